/** The content endpoint (spec §2.4, §4.2): an index of the pages, and each with its Markdown. */
import { pages as linked, routes } from '../routes.ts';
import type { Page } from '../site/pages.ts';
import { API_VERSION } from './facts.ts';

/** What discovery reads of a page of the site. */
export type SourcePage = Pick<Page, 'path' | 'markdownPath' | 'title' | 'description' | 'markdown'>;

/** A page that says something only to whoever has just sent a form. */
const NOT_A_RESOURCE = linked.thankYou.path;

/** The pages that are resources, in the order of the site. */
export function resourcePages<P extends SourcePage>(pages: readonly P[]): P[] {
  return pages.filter((page) => page.path !== NOT_A_RESOURCE);
}

/** What the index and a resource say alike; `id` is the path without its slash, `index` for the first page. */
function entryOf({ path, title, description }: SourcePage, baseUrl: string) {
  const id = path === routes.startPage.path ? 'index' : path.slice(1);
  return { id, title, description, url: baseUrl + path };
}

/** The resource index. */
export function contentIndex(pages: readonly SourcePage[], baseUrl: string) {
  const resources = resourcePages(pages).map((page) => ({
    ...entryOf(page, baseUrl),
    markdown_url: baseUrl + page.markdownPath,
  }));
  return { version: API_VERSION, resources };
}

/** What makes each resource, by its identifier: the Markdown is rendered when it is asked for. */
export function contentResources(pages: readonly SourcePage[], baseUrl: string) {
  return resourcePages(pages).map((page) => {
    const entry = entryOf(page, baseUrl);
    return [entry.id, () => ({ ...entry, markdown: page.markdown })] as const;
  });
}
