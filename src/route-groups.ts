/** What a route is, and the groups of them: the list itself is `routes.ts`. */

/** The groups whose routes are in the OpenAPI document. */
export type DocumentedGroup = 'actions' | 'forms' | 'discovery';

/**
 * `definitions` are for machines as well: the shapes of events and tools. `tools` speak the Model Context
 * Protocol, `press` is one person's own page, `console` is there for whoever is signed in alone, `signIn` is the
 * way there, `metrics` has a port of its own.
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
  /** `:name` stands for a part that has many values, such as each action or each page. */
  path: string;
  group: Group;
  /** What asks for it; `ours` where none of the three pages does. */
  section: `spec §${string}` | `contract §${string}` | `beyond §${string}` | 'ours';
  /** In OpenAPI the title of the operation. */
  summary: string;
};

/** Takes a group; returns what makes a row of it. */
export function inGroup<G extends Group>(group: G) {
  const of = (method: Route['method']) => {
    return (path: string, section: Route['section'], summary: string) => {
      return { method, path, group, section, summary };
    };
  };
  return { get: of('GET'), post: of('POST'), delete: of('DELETE') };
}
