import type { Route } from '../../src/route-groups.ts';
import { routes } from '../../src/routes.ts';

/**
 * Paths of the console's pages that have no parameter, with `/operator` first. The list lacks exports and the number of
 * new leads, which are not HTML. A page with a parameter needs a row, so each list names it itself.
 */
export const consolePages = Object.values<Route>(routes)
  .filter(({ method, group, path }) => method === 'GET' && group === 'console' && !/[:.]/.test(path))
  .filter((route) => route !== routes.operatorNewLeads)
  .map(({ path }) => path);
