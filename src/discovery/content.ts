/** The content endpoint (spec §2.4, §4.2): an index of the pages, and each with its Markdown. */
import { pages as linked, routes } from '../routes.ts';
import type { Page } from '../site/pages.ts';
import { API_VERSION, type Facts } from './facts.ts';

/** What discovery reads of a page of the site. */
export type SourcePage = Pick<Page, 'path' | 'markdownPath' | 'title' | 'description' | 'markdown'>;

type ResourceEntry = {
  id: string;
  title: string;
  description: string;
  url: string;
  markdown_url: string;
};

type Resource = Omit<ResourceEntry, 'markdown_url'> & { markdown: string };

/** A page that says something only to whoever has just sent a form. */
const NOT_A_RESOURCE = linked.thankYou.path;

/** The pages that are resources, in the order of the site. */
export function resourcePages<P extends SourcePage>(pages: readonly P[]): P[] {
  return pages.filter((page) => page.path !== NOT_A_RESOURCE);
}

/** The path of a page without its slash; `index` for the first page. */
function idOf(page: SourcePage): string {
  return page.path === routes.startPage.path ? 'index' : page.path.slice(1);
}

/** Takes the pages of the site; returns the resource index. */
export function contentIndex(pages: readonly SourcePage[], { baseUrl }: Pick<Facts, 'baseUrl'>) {
  const resources: ResourceEntry[] = resourcePages(pages).map((page) => ({
    id: idOf(page),
    title: page.title,
    description: page.description,
    url: baseUrl + page.path,
    markdown_url: baseUrl + page.markdownPath,
  }));
  return { version: API_VERSION, resources };
}

/** Takes the pages of the site; returns each resource by its identifier. */
export function contentResources(
  pages: readonly SourcePage[],
  { baseUrl }: Pick<Facts, 'baseUrl'>,
): Map<string, Resource> {
  const entries = resourcePages(pages).map((page): [string, Resource] => {
    const { title, description } = page;
    const resource = {
      id: idOf(page),
      title,
      description,
      url: baseUrl + page.path,
      get markdown() {
        return page.markdown;
      },
    };
    return [idOf(page), resource];
  });
  return new Map(entries);
}
