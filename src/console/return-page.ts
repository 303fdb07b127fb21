/** The page of the console to which a sign-in or a change returns (reference §12.15). */
import { type ConsoleRoute, routes } from '../routes.ts';

/** Routes that answer GET with something else than a page. */
const NO_PAGES: ReadonlySet<ConsoleRoute> = new Set(['operatorLeadsCsv', 'operatorLeadsJsonl']);

const MAXIMUM_LENGTH = 2_000;

/** Matches the path of every page, with any value for a parameter. */
const PAGE = new RegExp(
  `^(?:${Object.entries(routes)
    .filter(
      ([name, { group, method }]) => group === 'console' && method === 'GET' && !NO_PAGES.has(name as ConsoleRoute),
    )
    .map(([, { path }]) => path.replace(/:\w+/g, '[\\w-]+'))
    .join('|')})(?<query>\\?[!-~]*)?$`,
);

/** Returns a path with its query if a GET of it answers a page of the console. Returns undefined for any other text. */
export function returnPage(text: string | null | undefined): string | undefined {
  if (text == null || text.length > MAXIMUM_LENGTH) return undefined;
  const found = PAGE.exec(text);
  if (found === null || text.includes('#')) return undefined;
  // A person's page with `export` is a download.
  const isDownload = new URLSearchParams(found.groups?.query).has('export');
  return isDownload ? undefined : text;
}
