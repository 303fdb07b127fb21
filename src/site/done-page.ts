/** Renders the page after something was sent: one heading, the reference, what happens next, and whom to ask. */
import { pages } from '../routes.ts';
import { icons } from './icons.ts';
import { contactHref, fillInIsolated } from './interpolate.ts';
import { renderTemplate } from './templates.ts';
import type { Words } from './words.ts';

type Done = {
  title: string;
  /** Sentence under the title, as HTML. */
  text: string;
  /** The short reference. Undefined for a newsletter subscription, which has none. */
  reference: string | undefined;
  steps: readonly string[];
  /** A note under the title. */
  notice?: string | undefined;
};

export type DoneContext = {
  operator: { name: string; contact: string | undefined };
  words: Pick<Words, 'sent' | 'stored' | 'frame' | 'lang'>;
  /** Attributes for the language of the words, if the page is in another language. */
  languageMark?: string;
};

export function renderDone(done: Done, { operator, words, languageMark }: DoneContext): string {
  const { contact } = operator;
  return renderTemplate('done', {
    ...done,
    languageMark,
    tick: icons.tick,
    words: fillInIsolated(words.sent, { operator: operator.name }, words.lang),
    contact:
      contact === undefined
        ? { text: words.frame.contact, href: pages.contact.path }
        : { text: contact, href: contactHref(contact) },
  });
}
