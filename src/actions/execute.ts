/** The whole chain of an execution, top to bottom (spec §4.4), in the order of contract §4. */
import { type Form, findForm } from '../forms/catalog.ts';
import type { Fields } from '../forms/validate.ts';
import type { Log } from '../operations/log.ts';
import type { Metrics } from '../operations/metrics.ts';
import type { MinimumByAction } from '../settings/confirmation-minimum.ts';
import type { ConfirmedVia } from '../storage/schema.ts';
import type { ExecutionSubmission } from '../submissions/execution-rows.ts';
import type { Parties } from '../submissions/recipient.ts';
import { eventOf, lookedFor } from '../submissions/submission.ts';
import { submit } from '../submissions/submit.ts';
import type { Outcome, Upstream } from '../upstream/upstream.ts';
import { admit, authorize, readKeyedBody } from './admission.ts';
import type { Claim, ClaimRequest } from './claim.ts';
import { CONFIRMATION_STATEMENT } from './confirmation-statement.ts';
import {
  type ExecuteResult,
  examinePreview,
  judgeRecorded,
  type OpenPreview,
} from './examine-preview.ts';
import type { Executions } from './executions.ts';
import type { Mailboxes } from './mailbox.ts';
import { isBelow } from './minimum.ts';
import type { AgentRequest, PreviewParts } from './preview.ts';
import { type Recorded, receiptOf } from './receipt.ts';

export type ExecuteRequest = AgentRequest & {
  /** Every line of the header, as it came. */
  idempotencyKeys: readonly string[];
  traceparent: string | undefined;
};

export type ExecuteParts = PreviewParts & {
  executions: Executions;
  mailboxes: Pick<Mailboxes, 'digestsOf'>;
  upstream: Upstream | undefined;
  /** The least that each action takes (beyond §4). */
  confirmationMinimum: MinimumByAction;
  log: Log;
  metrics: Pick<Metrics, 'countExecution' | 'countAttempt'>;
};

/** The receipt or the refusal. Throws `StorageUnavailable`. */
export async function execute(
  parts: ExecuteParts,
  request: ExecuteRequest,
): Promise<ExecuteResult> {
  const form = findForm(request.action);
  if (form === undefined) return { kind: 'unknownAction' };

  const caller = await admit(parts, request);
  if (caller.kind !== 'client') return caller;

  const keyed = await readKeyedBody(request);
  if (keyed.kind !== 'keyed') return keyed;
  const { idempotencyKey, value } = keyed;
  const { preview_id: token, confirmation, confirmation_text: confirmationText } = value;
  if (typeof token !== 'string') return { kind: 'previewIdNotText' };
  if (confirmation !== true || confirmationText !== CONFIRMATION_STATEMENT) {
    return { kind: 'notConfirmed' };
  }

  const examined = await examinePreview(parts, caller.name, idempotencyKey, token, form.name);
  if (examined.kind !== 'open') return examined;
  // Where it is enough, the claim looks whether the mailbox has reported the client.
  if (isBelow('agent', parts.confirmationMinimum[form.name])) {
    const refused = await refuseUnconfirmed(parts, examined, 'agent');
    if (refused !== undefined) return refused;
  }
  return await executePreview(parts, request, { ...examined, confirmedVia: 'agent' });
}

/**
 * Where the mailbox has reported the client, or the action takes no less than the person's own press; nothing is
 * consumed (beyond §4). Otherwise undefined.
 */
export async function refuseUnconfirmed(
  parts: ExecuteParts,
  { form, client, preview }: OpenPreview,
  via: ConfirmedVia,
): Promise<ExecuteResult | undefined> {
  if (await isReportedBy(parts, client, preview.fields)) return { kind: 'clientReported' };
  const isTooLittle = isBelow(via, parts.confirmationMinimum[form.name]);
  return isTooLittle ? { kind: 'humanConfirmationRequired' } : undefined;
}

/** Whether the owner of the mailbox in the fields has said that they did not ask this client (beyond §4). */
export async function isReportedBy(
  { executions, mailboxes }: Pick<ExecuteParts, 'executions' | 'mailboxes'>,
  client: string,
  { email = '' }: Fields,
): Promise<boolean> {
  return await executions.isReported(client, () => mailboxes.digestsOf(email));
}

/** Claims, sends and settles what was examined and confirmed; once, whoever else tries. */
export async function executePreview(
  parts: ExecuteParts,
  request: Pick<ExecuteRequest, 'authorization' | 'traceparent'>,
  confirmed: OpenPreview & { confirmedVia: ConfirmedVia },
): Promise<ExecuteResult> {
  const { parties, upstream, executions } = parts;
  if (parties === undefined || upstream === undefined) return { kind: 'actionsNotConfigured' };
  const { form, preview, confirmedVia, client, idempotencyKey, previewDigest } = confirmed;

  // Whoever was revoked while the body came executes nothing (contract §4, "Authority").
  const stillCaller = authorize(parts, request);
  if (stillCaller.kind !== 'client') return stillCaller;

  const { fields } = preview;
  const claimed = {
    actionId: parts.newId(),
    action: form.name,
    client,
    idempotencyKey,
    previewDigest,
    confirmationText: CONFIRMATION_STATEMENT,
    confirmedVia,
    destination: preview.destination,
  };
  const claim = await executions.claim(
    claimed,
    submissionOf(claimed, { form, fields }, parties),
    () => parts.mailboxes.digestsOf(fields.email ?? ''),
  );
  if (claim !== undefined) return await sendClaimed(parts, claim, form, request.traceparent);
  const recorded = await executions.find(client, idempotencyKey, previewDigest);
  const judged = judgeRecorded(recorded, previewDigest, form.name);
  if (judged !== undefined) return judged;
  const isReported = await isReportedBy(parts, client, fields);
  return isReported ? { kind: 'clientReported' } : { kind: 'inProgress' };
}

/** What is kept with a claim, for the moment at which the consent is recorded. */
export function submissionOf(
  { actionId: id, client }: Pick<ClaimRequest, 'actionId' | 'client'>,
  { form, fields }: { form: Form; fields: Fields },
  parties: Parties,
): (createdAt: string) => ExecutionSubmission {
  return (createdAt) => {
    const submission = { id, form, fields, origin: 'agent', client } as const;
    const consented = { ...submission, consentRecordedAt: createdAt };
    const { body: event } = eventOf(consented, parties, createdAt);
    return { form: form.name, ...lookedFor(fields), event };
  };
}

/** Sends what was claimed, whoever confirmed it, and settles it. */
export async function sendClaimed(
  { upstream, executions, clock, metrics, log }: ExecuteParts,
  claim: Claim,
  form: Form,
  traceparent: string | undefined,
): Promise<ExecuteResult> {
  if (upstream === undefined) throw new Error('Nothing is claimed without an upstream.');
  const { outcome, row } = await executions.conclude(claim, async () => {
    if (upstream.embedded) throw new Error('The embedded inbox delivers by its commit.');
    const delivery = {
      mayStart: claim.mayStart,
      ...(traceparent !== undefined && { traceparent }),
    };
    const sent = { id: claim.actionId, type: form.event, body: claim.submission.event };
    return await submit({ upstream, clock, metrics }, sent, delivery, 'first');
  });
  if (upstream.embedded) metrics.countAttempt(outcome.kind, 'first');
  metrics.countExecution(row.action, row.status);
  log.info(
    {
      actionId: row.action_id,
      action: row.action,
      client: row.client,
      status: row.status,
      outcome,
    },
    'execution settled',
  );
  return judgeSettled(outcome, row);
}

/** Records that the person declined: the preview is consumed, and nothing is sent (beyond §3). */
export async function declinePreview(
  parts: ExecuteParts,
  { form, preview, client, idempotencyKey, previewDigest }: OpenPreview,
): Promise<ExecuteResult> {
  const { executions } = parts;
  const declined = await executions.decline({
    actionId: parts.newId(),
    action: form.name,
    client,
    idempotencyKey,
    previewDigest,
    confirmationText: '',
    confirmedVia: 'client_form',
    destination: preview.destination,
  });
  if (declined) return { kind: 'confirmationDeclined' };
  const recorded = await executions.find(client, idempotencyKey, previewDigest);
  return judgeRecorded(recorded, previewDigest, form.name) ?? { kind: 'inProgress' };
}

/** The receipt that stands decides; the outcome says how a failure is told (contract §3). */
function judgeSettled(outcome: Outcome, row: Recorded): ExecuteResult {
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
