/** The content endpoint (reference §14.4): an index of the pages, and each page with its Markdown. */
import { pages as linked, routes } from '../routes.ts';
import type { Page } from '../site/pages.ts';
import { API_VERSION } from './deployment.ts';

/** The members of a site's page that discovery reads. */
export type SourcePage = Pick<Page, 'path' | 'markdownPath' | 'title' | 'description' | 'markdown'>;

/** Returns the pages that are resources, in the order of the site. The thank-you page is no resource. */
export function resourcePages<P extends SourcePage>(pages: readonly P[]): P[] {
  return pages.filter((page) => page.path !== linked.thankYou.path);
}

/**
 * Returns the members that a page has in the index and as a resource. `id` is the path without its slash, or `index`
 * for the first page.
 */
function entryOf({ path, title, description }: SourcePage, baseUrl: string) {
  const id = path === routes.startPage.path ? 'index' : path.slice(1);
  return { id, title, description, url: baseUrl + path };
}

/** Returns the index. */
export function contentIndex(pages: readonly SourcePage[], baseUrl: string) {
  const resources = resourcePages(pages).map((page) => {
    return { ...entryOf(page, baseUrl), markdown_url: baseUrl + page.markdownPath };
  });
  return { version: API_VERSION, resources };
}

/**
 * Returns the resources by identifier, each as a function. A resource is rendered only when its function is called,
 * because rendering takes time.
 */
export function contentResources(pages: readonly SourcePage[], baseUrl: string) {
  return resourcePages(pages).map((page) => {
    const entry = entryOf(page, baseUrl);
    return [entry.id, () => ({ ...entry, markdown: page.markdown })] as const;
  });
}
