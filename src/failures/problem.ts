/** An entry of the failure catalogue. */
import type { RouteName } from '../routes.ts';

export type Problem = {
  /** HTTP status, or 0 if the upstream's own status is passed through (reference §5.9). */
  status: number;
  /** One sentence that says what is wrong, for people and programs. */
  sentence: string;
  /**
   * Code of the specification or of reference §18.3. It replaces the sentence in `error`. Problem details have the code
   * of `codes.ts` and the sentence.
   */
  errorCode?: string;
  /** The next step for the caller of a route, the model that called a tool, or a person on a page (reference §18.1). */
  next: { route?: string; tool?: string; page?: string };
  /** The sentence and the next step of a route: `detail` of problem details. */
  detail: string;
  /** `error` of the JSON body: the code, or the same as `detail`. */
  error: string;
  /** Section of `docs/reference/`. */
  section: string;
  /** The routes that can answer with this problem. Empty if it belongs to no route. */
  operations: readonly RouteName[] | 'any';
  retryable?: true;
  /** Seconds for `Retry-After` if the refusal has no `retryAfterSeconds`. */
  waitSeconds?: number;
};

/** Returns a function that makes entries for the given routes and section. */
export const on =
  (operations: Problem['operations'], section: string) =>
  (
    status: number,
    sentence: string,
    given: Problem['next'] & Pick<Problem, 'errorCode' | 'retryable' | 'waitSeconds'> = {},
  ): Problem => {
    const { route, tool, page, ...more } = given;
    const next = { ...(route && { route }), ...(tool && { tool }), ...(page && { page }) };
    const detail = [sentence, route].filter((each) => each !== undefined).join(' ');
    return { status, sentence, next, detail, error: more.errorCode ?? detail, section, operations, ...more };
  };

/** Returns the title and the text of the page for each problem. */
export function pageWords<Kind extends string>(problems: Record<Kind, Problem>) {
  const words = Object.entries<Problem>(problems).map(([kind, { sentence, next }]) => {
    return [kind, { title: sentence, text: next.page ?? '' }];
  });
  return Object.fromEntries(words) as Record<Kind, { title: string; text: string }>;
}
