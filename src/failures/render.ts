/** Turns a refusal into status, headers and JSON body, problem details, a tool result, or the text of a page. */
import { describeFault } from '../forms/validate.ts';
import { linkToReceipt } from '../routes.ts';
import { type Problem, problems } from './catalogue.ts';
import { codeOf, describedAt } from './codes.ts';
import type { Refusal } from './refusals.ts';

export type RenderedProblem = {
  kind: Refusal['kind'];
  status: number;
  headers: Record<string, string>;
  body: { error: string } & Record<string, unknown>;
  /** The sentence, or sentences about the fields, and the next step. */
  detail: string;
};

/** Media type of problem details (RFC 9457 §3). */
export const PROBLEM_TYPE = 'application/problem+json';

/** Returns status, headers and JSON body for an agent, a form route's JSON client, or a native form. */
export function renderProblem(refusal: Refusal, as: 'agent' | 'json' | 'native'): RenderedProblem {
  const entry: Problem = problems[refusal.kind];
  const headers: Record<string, string> = {};
  const seconds = secondsToWait(entry, refusal);
  // A person reads the answer to a native form, and the author of a program reads every other answer.
  const { sentence, next } = entry;
  const words = as === 'native' && next.page !== undefined ? `${sentence} ${next.page}` : entry.detail;
  const detail = withWait(sentencesOfFaults(refusal) ?? words, seconds);
  const body: RenderedProblem['body'] = { error: entry.errorCode ?? detail };

  // RFC 6750 §3 defines the challenge and its parameters.
  const challenge = 'Bearer realm="agent actions"';
  if (refusal.kind === 'unauthenticated')
    headers['www-authenticate'] = challenge + (refusal.credentialSent ? ', error="invalid_token"' : '');
  if (refusal.kind === 'insufficientScope')
    headers['www-authenticate'] = `${challenge}, error="insufficient_scope", scope="${refusal.scope}"`;
  if (entry.retryable) body.retryable = true;
  if (seconds !== undefined) {
    headers['retry-after'] = String(seconds);
    if (as === 'json' && entry.status === 429) body.retry_after = seconds; // reference §4.7
  }
  if ('missing' in refusal && refusal.missing.length > 0) body.fields = refusal.missing;
  // A person gives the reference when they ask the operator (reference §4.7).
  if ('reference' in refusal && refusal.reference !== undefined) headers['submission-reference'] = refusal.reference;
  if ('receipt' in refusal) {
    body.receipt = refusal.receipt;
    const actionId = actionIdOf(refusal.receipt);
    if (actionId !== undefined) headers.link = linkToReceipt(actionId);
  }
  if ('replay' in refusal && refusal.replay) {
    body.replay = true;
    headers['idempotent-replayed'] = 'true';
  }
  return { kind: refusal.kind, status: statusOf(entry, refusal, as), headers, body, detail };
}

/** Returns the body of RFC 9457, with every member that the usual body has beside `error` (reference §18.5). */
export function problemDetails(rendered: RenderedProblem, about: { baseUrl: string; requestId: string }) {
  const { kind, status, detail, body } = rendered;
  const { error: _, ...further } = body;
  const code = codeOf(kind);
  return {
    type: about.baseUrl + describedAt(code),
    title: titleOf(problems[kind]),
    status,
    detail,
    code,
    request_id: about.requestId,
    ...further,
  };
}

/** Returns the first sentence of a problem without its full stop, which is the same for every refusal of a kind. */
function titleOf({ sentence }: Problem): string {
  return sentence.replace(/\.(?: .*)?$/s, '');
}

/** Returns the upstream's status (reference §5.9), 400 for a too long JSON value (§4.6), or the status of the entry. */
function statusOf(entry: Problem, refusal: Refusal, as: 'agent' | 'json' | 'native'): number {
  if (refusal.kind === 'upstreamRejected') return refusal.status;
  return refusal.kind === 'valueTooLong' && as === 'json' ? 400 : entry.status;
}

/** Returns the seconds of `Retry-After`, which are always 1 for an execution in progress (reference §5.8). */
function secondsToWait(entry: Problem, refusal: Refusal): number | undefined {
  if ('retryAfterSeconds' in refusal) return refusal.retryAfterSeconds;
  return entry.waitSeconds ?? (entry.retryable && 1);
}

/**
 * Returns the text of a tool result: sentence, code in parentheses, next step (reference §8.9), and the `action_id`
 * of a failed execution.
 */
export function renderForTool(refusal: Refusal): string {
  const entry: Problem = problems[refusal.kind];
  const { sentence, errorCode, next } = entry;
  const coded = errorCode === undefined ? sentence : sentence.replace(/\.$/, ` (${errorCode}).`);
  const failed = 'receipt' in refusal ? actionIdOf(refusal.receipt) : undefined;
  const parts = [sentencesOfFaults(refusal) ?? coded, next.tool ?? next.route, failed && `action_id: ${failed}`];
  return withWait(parts.filter((each) => each !== undefined).join(' '), secondsToWait(entry, refusal));
}

/** Returns the status of a page and its texts: the sentence and the next step. */
export function renderForPage(refusal: Refusal) {
  const entry: Problem = problems[refusal.kind];
  const { status, sentence } = entry;
  return { status, sentence, next: withWait(entry.next.page ?? '', secondsToWait(entry, refusal)) };
}

function actionIdOf(receipt: object): string | undefined {
  return 'action_id' in receipt ? String(receipt.action_id) : undefined;
}

function withWait(text: string, seconds: number | undefined): string {
  return text.replace('{wait}', seconds === 1 ? '1 second' : `${seconds} seconds`);
}

/** Returns sentences about invalid fields, which replace the catalogue's sentence, or undefined if none is invalid. */
function sentencesOfFaults(refusal: Refusal): string | undefined {
  if (!('faults' in refusal) || refusal.faults.length === 0) return undefined;
  const { faults } = refusal;
  const missing = 'missing' in refusal ? refusal.missing : [];
  const further = missing.filter((name) => !faults.some((fault) => fault.field.name === name));
  return [...faults.map(describeFault), ...further.map((name) => `${name} is missing.`)].join(' ');
}
