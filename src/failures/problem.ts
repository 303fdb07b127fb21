/** What the catalogue says of one refusal. */
import type { RouteName } from '../routes.ts';

export type Problem = {
  /** 0 where the upstream's own status is passed through (spec §4.4). */
  status: number;
  /** What is wrong, for whoever hears of it. */
  sentence: string;
  /** What `error` is instead of words: a code of the specification or of beyond §4. */
  code?: string;
  /** What to do next: after a request, for the model that called a tool, for a person on a page (beyond §3, §4). */
  next: { route?: string; tool?: string; page?: string };
  /** `error` of the JSON body: the code, or the sentence and what to do next. */
  error: string;
  /** Where the specification or the contract says so. */
  section: string;
  /** The routes it can arise on; none of them where no route was found. */
  operations: readonly RouteName[] | 'any';
  retryable?: true;
  /** What `Retry-After` says where the refusal does not know it. */
  waitSeconds?: number;
};

/** Takes the routes that a problem can arise on, and the section; returns what makes an entry. */
export const on =
  (operations: Problem['operations'], section: string) =>
  (status: number, sentence: string, next: Problem['next'] = {}, code?: string): Problem => {
    const error = code ?? [sentence, next.route].filter((each) => each !== undefined).join(' ');
    return {
      status,
      sentence,
      ...(code === undefined ? {} : { code }),
      next,
      error,
      section,
      operations,
    };
  };
