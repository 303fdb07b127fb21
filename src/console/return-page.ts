/** The page of the console to which a sign-in or a change returns (reference §12.15). */
import { routes } from '../routes.ts';

/** Routes whose answer to GET is no page, but a download or JSON. */
const notPages = [
  routes.operatorLeadsCsv,
  routes.operatorLeadsJsonl,
  routes.operatorNewLeads,
  routes.operatorSubscribersCsv,
].map(({ path }) => path);

const MAXIMUM_LENGTH = 2_000;

/** The segments of every path of the console that answers GET, such as `operator`, `leads`, `:id`. */
const pages = Object.values(routes)
  .filter(({ group, method }) => group === 'console' && method === 'GET')
  .map(({ path }) => path.split('/'));

const VALUE = /^[\w-]+$/;
const QUERY = /^[!"$-~]*$/;

function isPath(path: string): boolean {
  const segments = path.split('/');
  return pages.some(
    (page) =>
      page.length === segments.length &&
      page.every((own, at) => own === segments[at] || (own.startsWith(':') && VALUE.test(segments[at] ?? ''))),
  );
}

/**
 * Returns the page with the button or the link that leads to this path, such as the list with the same query for an
 * export.
 */
export function pageOfForm(path: string, query: URLSearchParams): string {
  const others = new URLSearchParams(query);
  others.delete('export');
  const search = others.size > 0 ? `?${others}` : '';
  // A download has the path of its list with an ending. Other paths are below their page.
  for (let above = path.replace(/\.\w+$/, ''); above !== ''; above = above.slice(0, above.lastIndexOf('/'))) {
    const page = returnPage(above + search) ?? returnPage(above);
    if (page !== undefined) return page;
  }
  return routes.operatorPage.path;
}

/** Returns a path with its query if a GET of it answers a page of the console. Returns undefined for any other text. */
export function returnPage(text: string | null | undefined): string | undefined {
  if (text == null || text.length > MAXIMUM_LENGTH) return undefined;
  const [path = '', query = ''] = text.split(/\?(.*)/s, 2);
  if (!isPath(path) || notPages.includes(path) || !QUERY.test(query)) return undefined;
  // A person's page with `export` is a download.
  return new URLSearchParams(query).has('export') ? undefined : text;
}
