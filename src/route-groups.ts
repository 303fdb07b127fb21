/** Type and groups of the routes that `routes.ts` lists. */

/** Groups whose routes are in the OpenAPI document. */
export type DocumentedGroup = 'actions' | 'forms' | 'discovery';

/**
 * Group of a route. `definitions` are schemas of events and catalogues for machines. `tools` use the Model Context
 * Protocol, or get tokens for it. `press` is the page behind a link that one person got. `console` needs a session, and `signIn` starts one.
 * The group `metrics` has its own port.
 */
export type Group =
  | DocumentedGroup
  | 'definitions'
  | 'tools'
  | 'pages'
  | 'press'
  | 'signIn'
  | 'console'
  | 'files'
  | 'health'
  | 'metrics';

export type Route = {
  method: 'GET' | 'POST' | 'DELETE';
  /** Path of the route. `:name` is a parameter, such as the action or the page. */
  path: string;
  group: Group;
  /** Section of `docs/reference/` that requires the route, or `ours` if none does. */
  section: `§${string}` | 'ours';
  /** Title of the operation in OpenAPI. */
  summary: string;
};

/** Returns functions that make the routes of a group. */
export function inGroup<G extends Group>(group: G) {
  const of = (method: Route['method']) => {
    return (path: string, section: Route['section'], summary: string) => {
      return { method, path, group, section, summary };
    };
  };
  return { get: of('GET'), post: of('POST'), delete: of('DELETE') };
}
