/** From a refusal to status, headers and JSON body: the one place where errors become HTTP. */
import type { Receipt } from '../actions/receipt.ts';
import { describeFault, type Fault } from '../forms/validate.ts';
import { type Problem, type ProblemKind, problems } from './catalogue.ts';

/** A refusal as the catalogue reads it: its kind, and whatever that kind carries. */
export type Refused = {
  kind: ProblemKind;
  retryAfterSeconds?: number;
  status?: number;
  credentialSent?: boolean;
  scope?: string;
  faults?: Fault[];
  missing?: string[];
  receipt?: Receipt;
  replay?: boolean;
};

export type RenderedProblem = {
  status: number;
  headers: Record<string, string>;
  body: { error: string } & Record<string, unknown>;
};

/** Takes a refusal and how the answer is asked for; returns status, headers and the JSON body. */
export function renderProblem(refused: Refused, as: 'agent' | 'json' | 'native'): RenderedProblem {
  const { kind, retryAfterSeconds, missing, receipt, replay } = refused;
  const entry: Problem = problems[kind];
  const status = kind === 'valueTooLong' && as === 'json' ? 400 : (refused.status ?? entry.status);
  const headers: Record<string, string> = {};
  const body: RenderedProblem['body'] = { error: sentenceOf(entry, refused) };

  if (kind === 'unauthenticated')
    headers['www-authenticate'] = bearerChallenge(
      refused.credentialSent ? 'invalid_token' : undefined,
    );
  if (kind === 'insufficientScope')
    headers['www-authenticate'] = bearerChallenge('insufficient_scope', refused.scope);
  if (entry.retryable) {
    body.retryable = true;
    headers['retry-after'] = '1';
  }
  if (retryAfterSeconds !== undefined) {
    headers['retry-after'] = String(retryAfterSeconds);
    if (as === 'json') body.retry_after = retryAfterSeconds;
  }
  if (missing !== undefined && missing.length > 0) body.fields = missing;
  if (receipt !== undefined) body.receipt = receipt;
  if (replay) {
    body.replay = true;
    headers['idempotent-replayed'] = 'true';
  }
  return { status, headers, body };
}

/** The sentence of the catalogue, or where fields are at fault, a sentence about each. */
function sentenceOf(entry: Problem, { faults = [], missing = [] }: Refused): string {
  if (faults.length === 0) return entry.error;
  const besides = missing.filter((name) => !faults.some((fault) => fault.field.name === name));
  return [...faults.map(describeFault), ...besides.map((name) => `${name} is missing.`)].join(' ');
}

/** RFC 6750 §3. */
function bearerChallenge(error: string | undefined, scope?: string): string {
  const parts = ['realm="agent actions"'];
  if (error !== undefined) parts.push(`error="${error}"`);
  if (scope !== undefined) parts.push(`scope="${scope}"`);
  return `Bearer ${parts.join(', ')}`;
}
