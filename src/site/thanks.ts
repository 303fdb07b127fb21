/** The page that thanks: one for each form that says what happens next, and one for everybody else. */
import { type Form, forms } from '../forms/catalog.ts';
import { routes } from '../routes.ts';
import { icons } from './icons.ts';
import { renderTemplate } from './templates.ts';
import type { Words } from './words.ts';

/** What who sent that form sees; rendered when it is asked for. */
export type Thanks = { form: Form; readonly html: string };

type Texts = {
  name: string;
  title: string;
  description: string;
  /** HTML. */
  prose: string;
  actions: readonly { label: string; href: string }[];
  /** HTML of the contractor's card, where the contractor has what was sent. */
  card: string | undefined;
  words: Words['sent'];
};

/** Takes its texts; returns what stands between header and footer. */
export function thanksMarkup(texts: Texts): string {
  return renderTemplate('sent', { ...texts, tick: icons.tick });
}

/**
 * Takes the thanks and all pages; returns them by the path that somebody comes from. No address says which form was
 * sent (spec §4.6 has one `Location`), but the browser does. A subscription that was refused first comes from its route.
 */
export function thanksByPath(
  thanks: readonly Thanks[],
  pages: readonly { path: string; form: Form | undefined }[],
): ReadonlyMap<string, Thanks> {
  const pathsOf = (form: Form) => {
    const carriers = pages.filter((page) => page.form === form).map(({ path }) => path);
    return form === forms.newsletter ? [...carriers, routes.subscribeNewsletter.path] : carriers;
  };
  return new Map(thanks.flatMap((each) => pathsOf(each.form).map((path) => [path, each])));
}
