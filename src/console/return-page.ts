/** The page of the console to which a sign-in or a change returns (reference §12.15). */
import { routes } from '../routes.ts';

/** Routes that answer GET with something else than a page. */
const notPages = [routes.operatorLeadsCsv, routes.operatorLeadsJsonl, routes.operatorNewLeads].map(({ path }) => path);

const MAXIMUM_LENGTH = 2_000;

const pages = Object.values(routes)
  .filter(({ group, method }) => group === 'console' && method === 'GET')
  .map(({ path }) => path.replace(/:\w+/g, '[\\w-]+'));
const PAGE = new RegExp(`^(?<path>${pages.join('|')})(?:\\?(?<query>[!"$-~]*))?$`);

/** Returns a path with its query if a GET of it answers a page of the console. Returns undefined for any other text. */
export function returnPage(text: string | null | undefined): string | undefined {
  if (text == null || text.length > MAXIMUM_LENGTH) return undefined;
  const { path = '', query } = PAGE.exec(text)?.groups ?? {};
  // A person's page with `export` is a download.
  const isPage = path !== '' && !notPages.includes(path) && !new URLSearchParams(query).has('export');
  return isPage ? text : undefined;
}
