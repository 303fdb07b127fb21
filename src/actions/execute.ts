/** The whole chain of an execution, top to bottom (spec §4.4), in the order of contract §4. */
import { checkBearer } from '../credentials/check.ts';
import { scopeOf } from '../credentials/scopes.ts';
import type { ExecuteRefusal } from '../failures/refusals.ts';
import { bounds } from '../forms/bounds.ts';
import { findForm } from '../forms/catalog.ts';
import { parseJsonObject } from '../http/body.ts';
import type { Log } from '../operations/log.ts';
import type { Metrics } from '../operations/metrics.ts';
import type { ExecutionRow } from '../storage/schema.ts';
import { destinationOf } from '../submissions/recipient.ts';
import { submit } from '../submissions/submit.ts';
import type { Outcome, Upstream } from '../upstream/upstream.ts';
import { CONFIRMATION_STATEMENT } from './confirmation.ts';
import type { Executions } from './executions.ts';
import type { AgentRequest, PreviewParts } from './preview.ts';
import { digestOfPreview, openPreview } from './preview-token.ts';
import { type Receipt, type Recorded, receiptOf } from './receipt.ts';

export type ExecuteRequest = AgentRequest & {
  /** Every line of the header, as it came. */
  idempotencyKeys: readonly string[];
  traceparent: string | undefined;
};

export type ExecuteParts = PreviewParts & {
  executions: Executions;
  upstream: Upstream | undefined;
  log: Log;
  metrics: Pick<Metrics, 'countExecution' | 'countAttempt'>;
};

export type ExecuteResult =
  | { kind: 'submitted'; receipt: Receipt; replay: boolean }
  | ExecuteRefusal<Receipt>;

/** Of any length (spec §4.4, contract §4). */
const PRINTABLE_ASCII = /^[ -~]+$/;

/** The receipt or the refusal. Throws `StorageUnavailable`. */
export async function execute(
  parts: ExecuteParts,
  request: ExecuteRequest,
): Promise<ExecuteResult> {
  const form = findForm(request.action);
  if (form === undefined) return { kind: 'unknownAction' };

  const rate = await request.takeFromLimit();
  if (rate.exceeded) return { kind: 'rateLimited', retryAfterSeconds: rate.resetSeconds };

  const caller = authorize(parts, request);
  if (caller.kind !== 'client') return caller;

  const { parties, upstream, signingKeys, executions, clock, metrics } = parts;
  if (parties === undefined || upstream === undefined || signingKeys.length === 0) {
    return { kind: 'actionsNotConfigured' };
  }

  const [idempotencyKey, ...more] = request.idempotencyKeys;
  if (idempotencyKey === undefined || more.length > 0 || !isIdempotencyKey(idempotencyKey)) {
    return { kind: 'missingIdempotencyKey' };
  }

  const body = await request.readBody();
  if (body.kind !== 'read') return body;
  const json = parseJsonObject(body.bytes);
  if (json.kind !== 'object') return json;
  const { preview_id: token, confirmation, confirmation_text: confirmationText } = json.value;
  if (typeof token !== 'string') return { kind: 'previewIdNotText' };
  if (confirmation !== true || confirmationText !== CONFIRMATION_STATEMENT) {
    return { kind: 'notConfirmed' };
  }

  const previewDigest = digestOfPreview(token);
  const answerRecorded = async () => {
    const recorded = await executions.find(caller.name, idempotencyKey, previewDigest);
    return judgeRecorded(recorded, form.name, previewDigest);
  };
  const recorded = await answerRecorded();
  if (recorded !== undefined) return recorded;

  const opened = openPreview(signingKeys, token, clock.now());
  if (opened.kind === 'expired') return { kind: 'expiredPreview' };
  if (opened.kind !== 'open') return { kind: 'invalidPreview' };
  if (opened.preview.action !== form.name) return { kind: 'otherAction' };
  // The person agreed to one party: where that is another by now, they have to be asked again.
  if (opened.preview.destination !== destinationOf(form, parties))
    return { kind: 'invalidPreview' };

  // Whoever was revoked while the body came executes nothing (contract §4, "Authority").
  const stillCaller = authorize(parts, request);
  if (stillCaller.kind !== 'client') return stillCaller;

  const claim = await executions.claim({
    actionId: parts.newId(),
    action: form.name,
    client: caller.name,
    idempotencyKey,
    previewDigest,
    confirmationText,
  });
  if (claim === undefined) return (await answerRecorded()) ?? { kind: 'inProgress' };

  const { outcome, row } = await executions.conclude(claim, upstream.embedded, (within) =>
    submit(
      { upstream, parties, clock, metrics },
      {
        id: claim.actionId,
        form,
        fields: opened.preview.fields,
        origin: 'agent',
        client: caller.name,
        consentRecordedAt: claim.createdAt,
      },
      {
        mayStart: claim.mayStart,
        ...(within === undefined ? {} : { within }),
        ...(request.traceparent === undefined ? {} : { traceparent: request.traceparent }),
      },
    ),
  );
  metrics.countExecution(row.action, row.status);
  parts.log.info(
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

/** Who calls, where they may execute as of now; otherwise the refusal. */
function authorize({ credentials }: ExecuteParts, { authorization }: ExecuteRequest) {
  const caller = checkBearer(credentials, authorization);
  if (caller.kind !== 'client') {
    return { kind: 'unauthenticated', credentialSent: caller.kind === 'invalid' } as const;
  }
  if (!caller.scopes.has(scopeOf.execute)) {
    return { kind: 'insufficientScope', scope: scopeOf.execute } as const;
  }
  return caller;
}

function isIdempotencyKey(key: string): boolean {
  return key.length <= bounds.idempotencyKeyLength && PRINTABLE_ASCII.test(key);
}

/**
 * What is recorded for this client and key comes first, then what is for this preview. A key that was used
 * with another preview is a conflict, of whatever action that one was (spec §7.1).
 */
function judgeRecorded(
  recorded: { byKey: ExecutionRow | undefined; byPreview: ExecutionRow | undefined },
  action: string,
  previewDigest: string,
): ExecuteResult | undefined {
  const { byKey, byPreview } = recorded;
  if (byKey !== undefined) {
    if (byKey.preview_digest !== previewDigest) return { kind: 'idempotencyConflict' };
    if (byKey.action !== action) return { kind: 'otherAction' };
    if (byKey.status === 'executing') return { kind: 'inProgress' };
    const receipt = receiptOf(byKey);
    return {
      kind: byKey.status === 'submitted' ? 'submitted' : 'upstreamUnconfirmed',
      receipt,
      replay: true,
    };
  }
  if (byPreview === undefined) return undefined;
  return { kind: byPreview.action === action ? 'previewAlreadyUsed' : 'otherAction' };
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
