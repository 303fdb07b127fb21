/** Executes a preview (reference §5.6). The checks run in the order of reference §5.7. */
import { scopeOf } from '../credentials/clients.ts';
import { type Form, findForm } from '../forms/catalog.ts';
import type { Fields } from '../forms/validate.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { MinimumByAction } from '../settings/confirmation-minimum.ts';
import type { ConfirmedVia } from '../storage/schema.ts';
import { submit } from '../submissions/attempts.ts';
import type { ExecutionSubmission } from '../submissions/execution-rows.ts';
import { eventOf, type Parties, searchColumns } from '../submissions/submission.ts';
import type { Outcome, Upstream } from '../upstream/upstream.ts';
import { admit, authorize, isWeaker, type KeyedRequest, readKeyedBody } from './authorize.ts';
import type { Claim } from './complete-execution.ts';
import type { ClaimRequest } from './execution-queries.ts';
import { type Executions, type Recorded, receiptOf } from './executions.ts';
import { CONFIRMATION_STATEMENT, type PreviewParts } from './preview.ts';
import { checkPreview, type ExecuteResult, findRecorded, type OpenPreview } from './preview-token.ts';

export type ExecuteRequest = KeyedRequest & { action: string; traceparent: string | undefined };

/** Parts that take the place of the real ones for a sandbox client, so that nothing leaves the service. */
type SandboxParts = Pick<ExecuteParts, 'executions' | 'mailboxes' | 'upstream' | 'metrics'>;

export type ExecuteParts = PreviewParts & {
  executions: Executions;
  /** Reports name a mailbox by its digest (reference §6.4). */
  mailboxes: {
    digestOf(email: string): Promise<string>;
    hasReported(client: string, email: string): Promise<boolean>;
  };
  upstream: Upstream | undefined;
  /** The weakest way to confirm that each action accepts (reference §6.4). */
  confirmationMinimum: MinimumByAction;
  log: Log;
  metrics: Pick<Metrics, 'countExecution' | 'countAttempt'>;
  /** True if these parts are the parts of sandbox clients. */
  isSandbox?: boolean;
  sandbox: SandboxParts;
};

/** Returns the parts for a client, or for a row of a client. Only this function chooses the upstream of a client. */
export function partsFor<Parts extends Pick<ExecuteParts, 'sandbox'>>(
  parts: Parts,
  { sandbox }: { sandbox: boolean | 0 | 1 },
): Parts {
  return sandbox ? { ...parts, ...parts.sandbox, isSandbox: true } : parts;
}

/**
 * Returns the receipt or the refusal.
 * @throws StorageUnavailable
 */
export async function execute(all: ExecuteParts, request: ExecuteRequest): Promise<ExecuteResult> {
  const form = findForm(request.action);
  if (form === undefined) return { kind: 'unknownAction' };

  const caller = await admit(all, request);
  if (caller.kind !== 'client') return caller;
  const parts = partsFor(all, caller);

  const keyed = await readKeyedBody(request);
  if (keyed.kind !== 'keyed') return keyed;
  const { idempotencyKey, value } = keyed;
  const { preview_id: token, confirmation, confirmation_text: confirmationText } = value;
  if (typeof token !== 'string') return { kind: 'previewIdNotText' };
  if (confirmation !== true || confirmationText !== CONFIRMATION_STATEMENT) {
    return { kind: 'notConfirmed' };
  }

  const examined = await checkPreview(parts, caller.name, idempotencyKey, token, form.name);
  if (examined.kind !== 'open') return examined;
  // If the action accepts `agent`, the statement of the claim checks whether the mailbox has reported the client.
  if (parts.confirmationMinimum[form.name] !== 'agent') {
    const refused = await refuseUnconfirmed(parts, examined, 'agent');
    if (refused !== undefined) return refused;
  }
  return await executePreview(parts, request, { ...examined, confirmedVia: 'agent' });
}

/**
 * Returns the refusal if the mailbox has reported the client, or if the action needs a stronger confirmation. The
 * refusal consumes neither the key nor the preview (reference §6.4).
 */
export async function refuseUnconfirmed(
  parts: ExecuteParts,
  { form, fields, execution }: OpenPreview,
  via: ConfirmedVia,
): Promise<ExecuteResult | undefined> {
  if (await parts.mailboxes.hasReported(execution.client, fields.email ?? '')) {
    return { kind: 'clientReported' };
  }
  const isTooLittle = isWeaker(via, parts.confirmationMinimum[form.name]);
  return isTooLittle ? { kind: 'humanConfirmationRequired' } : undefined;
}

/** Claims, sends and settles a checked and confirmed preview, at most once. */
export async function executePreview(
  parts: ExecuteParts,
  request: Pick<ExecuteRequest, 'authorization' | 'traceparent'>,
  confirmed: OpenPreview & { confirmedVia: ConfirmedVia },
): Promise<ExecuteResult> {
  const { parties, upstream, executions, mailboxes } = parts;
  if (parties === undefined || upstream === undefined) return { kind: 'actionsNotConfigured' };

  // The credential may have been revoked while the body arrived (reference §5.13).
  const stillCaller = authorize(parts, request, scopeOf.execute);
  if (stillCaller.kind !== 'client') return stillCaller;

  const { form, fields, execution, confirmedVia } = confirmed;
  const { email = '' } = fields;
  const claimed = {
    ...execution,
    action_id: parts.newId(),
    confirmation_text: CONFIRMATION_STATEMENT,
    confirmed_via: confirmedVia,
  };
  const makeSubmission = submissionOf(claimed, { form, fields }, parties);
  const claim = await executions.claim(claimed, makeSubmission, await mailboxes.digestOf(email));
  if (claim !== undefined) return await sendClaimed(parts, claim, form, request.traceparent);
  const recorded = await findRecorded(parts, execution, form.name);
  if (recorded !== undefined) return recorded;
  const isReported = await mailboxes.hasReported(execution.client, email);
  return { kind: isReported ? 'clientReported' : 'inProgress' };
}

/** Returns a function that makes the submission of a claim from the time of the consent. */
export function submissionOf(
  { action_id: id, client }: Pick<ClaimRequest, 'action_id' | 'client'>,
  { form, fields }: { form: Form; fields: Fields },
  parties: Parties,
): (createdAt: string) => ExecutionSubmission {
  return (consentRecordedAt) => {
    const submission = { id, form, fields, origin: 'agent', client, consentRecordedAt } as const;
    const { body: event } = eventOf(submission, parties, consentRecordedAt);
    return { form: form.name, ...searchColumns(submission), event };
  };
}

/** Sends a claimed submission and settles the claim. */
export async function sendClaimed(
  {
    upstream,
    executions,
    clock,
    metrics,
    log,
  }: Pick<ExecuteParts, 'upstream' | 'executions' | 'clock' | 'metrics' | 'log'>,
  claim: Claim,
  form: Form,
  traceparent: string | undefined,
): Promise<ExecuteResult> {
  if (upstream === undefined) throw new Error('Nothing is claimed without an upstream.');
  const { outcome, row } = await executions.conclude(claim, async () => {
    if (upstream.embedded) throw new Error('The embedded inbox delivers by its commit.');
    const { action_id: id, submission, mayStart } = claim;
    const delivery = { mayStart, ...(traceparent !== undefined && { traceparent }) };
    const sent = { id, type: form.event, body: submission.event };
    return await submit({ upstream, clock, metrics }, sent, delivery, 'first');
  });
  if (upstream.embedded) metrics.countAttempt(outcome.kind, 'first');
  const { action_id: actionId, action, client, status } = row;
  metrics.countExecution(action, status);
  log.info({ actionId, action, client, status, outcome }, 'execution settled');
  return resultOf(outcome, row);
}

/** Records that the person declined. This consumes the preview, and nothing is sent (reference §8.8). */
export async function declinePreview(parts: ExecuteParts, { form, execution }: OpenPreview): Promise<ExecuteResult> {
  const isRecorded = await parts.executions.decline({
    ...execution,
    action_id: parts.newId(),
    confirmation_text: '',
    confirmed_via: 'client_form',
  });
  if (isRecorded) return { kind: 'confirmationDeclined' };
  return (await findRecorded(parts, execution, form.name)) ?? { kind: 'inProgress' };
}

/** The stored row decides the result. The outcome decides which refusal reports a failure (reference §5.9). */
function resultOf(outcome: Outcome, row: Recorded): ExecuteResult {
  const receipt = receiptOf(row);
  if (row.status === 'submitted') return { kind: 'submitted', receipt, replay: false };
  switch (outcome.kind) {
    case 'rejected':
      return { kind: 'upstreamRejected', status: outcome.status, receipt };
    case 'rateLimited':
      return { kind: 'upstreamRateLimited', retryAfterSeconds: outcome.retryAfterSeconds, receipt };
    default:
      return { kind: 'upstreamUnconfirmed', receipt, replay: false };
  }
}
