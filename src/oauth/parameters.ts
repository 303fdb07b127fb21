/** Reads the parameters of OAuth requests (reference §26.4). An empty parameter counts as absent. */
import { routes } from '../routes.ts';

export type Parameters = {
  /** Returns the value of a parameter. Returns undefined if the parameter is absent, empty or repeated. */
  get(name: string): string | undefined;
  /** True if any parameter is repeated. */
  hasRepeated: boolean;
};

export function parametersIn(sent: URLSearchParams): Parameters {
  const values = new Map<string, string>();
  const repeated = new Set<string>();
  for (const [name, value] of sent) {
    if (value === '') continue;
    if (values.has(name)) repeated.add(name);
    values.set(name, value);
  }
  return { get: (name) => (repeated.has(name) ? undefined : values.get(name)), hasRepeated: repeated.size > 0 };
}

/** Returns true if `resource` is the address of the tools (RFC 8707). */
export function isOurResource(resource: string, baseUrl: string): boolean {
  return URL.parse(resource)?.href === new URL(baseUrl + routes.connect.path).href;
}

/** Returns the scopes of a parameter `scope` that are in `available`. Without the parameter, returns all of them. */
export function grantedScopes(scope: string | undefined, available: Iterable<string>): string[] {
  const wanted = scope?.split(' ');
  return [...available].filter((each) => wanted === undefined || wanted.includes(each));
}
