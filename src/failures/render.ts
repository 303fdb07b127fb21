/** From a refusal to status, headers and JSON body: the one place where errors become HTTP. */
import { describeFault } from '../forms/validate.ts';
import { linkToReceipt } from '../routes.ts';
import { type Problem, problems } from './catalogue.ts';
import type { Refusal } from './refusals.ts';

export type RenderedProblem = {
  status: number;
  headers: Record<string, string>;
  body: { error: string } & Record<string, unknown>;
};

/** Takes a refusal and how the answer is asked for; returns status, headers and the JSON body. */
export function renderProblem(refusal: Refusal, as: 'agent' | 'json' | 'native'): RenderedProblem {
  const entry: Problem = problems[refusal.kind];
  const headers: Record<string, string> = {};
  const seconds = secondsToWait(entry, refusal);
  const body: RenderedProblem['body'] = {
    error: withWait(faultsOf(refusal) ?? entry.error, seconds),
  };

  if (refusal.kind === 'unauthenticated')
    headers['www-authenticate'] = bearerChallenge(
      refusal.credentialSent ? 'invalid_token' : undefined,
    );
  if (refusal.kind === 'insufficientScope')
    headers['www-authenticate'] = bearerChallenge('insufficient_scope', refusal.scope);
  if (entry.retryable) body.retryable = true;
  if (seconds !== undefined) {
    headers['retry-after'] = String(seconds);
    if (as === 'json' && entry.status === 429) body.retry_after = seconds; // spec §7.2
  }
  if ('missing' in refusal && refusal.missing.length > 0) body.fields = refusal.missing;
  // A person's own: what they may ask the operator about (beyond §1).
  if ('reference' in refusal && refusal.reference !== undefined)
    headers['submission-reference'] = refusal.reference;
  if ('receipt' in refusal) {
    body.receipt = refusal.receipt;
    const actionId = actionIdOf(refusal.receipt);
    if (actionId !== undefined) headers.link = linkToReceipt(actionId);
  }
  if ('replay' in refusal && refusal.replay) {
    body.replay = true;
    headers['idempotent-replayed'] = 'true';
  }
  return { status: statusOf(entry, refusal, as), headers, body };
}

/** The upstream's own (spec §4.4), one that JSON has otherwise than a native form (spec §8), or the catalogue's. */
function statusOf(entry: Problem, refusal: Refusal, as: 'agent' | 'json' | 'native'): number {
  if (refusal.kind === 'upstreamRejected') return refusal.status;
  return refusal.kind === 'valueTooLong' && as === 'json' ? 400 : entry.status;
}

/** What `Retry-After` says: of an execution in progress always 1 (contract §4). */
function secondsToWait(entry: Problem, refusal: Refusal): number | undefined {
  if ('retryAfterSeconds' in refusal) return refusal.retryAfterSeconds;
  return entry.waitSeconds ?? (entry.retryable && 1);
}

/**
 * What a tool says of a refusal: the sentence, its code in parentheses, and what to do next (beyond §3);
 * after a failed execution the `action_id`.
 */
export function renderForTool(refusal: Refusal): string {
  const { sentence, code, next }: Problem = problems[refusal.kind];
  const faults = faultsOf(refusal);
  const coded = code === undefined ? sentence : sentence.replace(/\.$/, ` (${code}).`);
  const failed = 'receipt' in refusal ? actionIdOf(refusal.receipt) : undefined;
  const said = [faults ?? coded, next.tool ?? next.route, failed && `action_id: ${failed}`];
  const words = said.filter((each) => each !== undefined).join(' ');
  return withWait(words, secondsToWait(problems[refusal.kind], refusal));
}

/** What a person reads on a page: the sentence, and what to do next. */
export function renderForPage(refusal: Refusal): {
  status: number;
  sentence: string;
  next: string;
} {
  const entry: Problem = problems[refusal.kind];
  const next = withWait(entry.next.page ?? '', secondsToWait(entry, refusal));
  return { status: entry.status, sentence: entry.sentence, next };
}

function actionIdOf(receipt: object): string | undefined {
  return 'action_id' in receipt ? String(receipt.action_id) : undefined;
}

function withWait(words: string, seconds: number | undefined): string {
  return words.replace('{wait}', seconds === 1 ? '1 second' : `${seconds} seconds`);
}

/** Where fields are at fault, a sentence about each: it stands for that of the catalogue. */
function faultsOf(refusal: Refusal): string | undefined {
  if (!('faults' in refusal) || refusal.faults.length === 0) return undefined;
  const { faults } = refusal;
  const missing = 'missing' in refusal ? refusal.missing : [];
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
