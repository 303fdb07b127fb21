/** The attempts to have a submission confirmed, as its row lists them (beyond §1). */
import type { AttemptBy } from '../storage/schema.ts';
import type { Outcome } from '../upstream/upstream.ts';

/** `unknown`: whoever made it died before it told. */
export type AttemptOutcome = Outcome['kind'] | 'unknown';

export type Attempt = {
  /** When it began, ISO 8601, UTC. */
  at: string;
  /** How long it took, in milliseconds. */
  ms: number;
  outcome: AttemptOutcome;
  by: AttemptBy;
};

/** What an update appends to `submissions.attempts`: a line, so that both databases append alike. */
export function lineOf({ at, ms, outcome, by }: Attempt): string {
  return `${JSON.stringify({ at, ms, outcome, by })}\n`;
}

/** Takes `submissions.attempts`; returns them, the oldest first. */
export function attemptsOf(lines: string): Attempt[] {
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Attempt);
}
