/** Requests a person's confirmation (reference §6.5). The checks run in the same order as for execute. */
import { admit, authorize, isWeaker, type KeyedRequest, readKeyedBody } from '../actions/authorize.ts';
import { type ExecuteParts, partsFor } from '../actions/execute.ts';
import { checkPreview, digestOfPreview, type ExecuteResult } from '../actions/preview-token.ts';
import { scopeOf } from '../credentials/clients.ts';
import type { ConfirmationRefusal } from '../failures/refusals.ts';
import { bounds } from '../forms/bounds.ts';
import type { Metrics } from '../platform/metrics.ts';
import { pathTo, routes } from '../routes.ts';
import type { ConfirmationRow } from '../storage/schema.ts';
import { type Confirmation, type ConfirmationRecord, type Confirmations, recordOf } from './confirmations.ts';
import type { PendingConfirmations } from './pending.ts';
import { digestOfSecret, secretOf } from './tokens.ts';

/** Parts for the confirmations of sandbox clients. */
export type SandboxConfirmationParts = Pick<RequestParts, 'pending' | 'onAsked'> &
  ExecuteParts['sandbox'] & { metrics: Pick<Metrics, 'countConfirmation'> };

export type RequestParts = ExecuteParts & {
  confirmations: Confirmations;
  pending: PendingConfirmations;
  /** Origin of the confirmation page, without a trailing slash. */
  baseUrl: string;
  /** True if the service can mail codes. */
  mailsCodes: boolean;
  metrics: Pick<Metrics, 'countConfirmation'>;
  /** Called with each new confirmation. */
  onAsked?(): void;
  sandbox: SandboxConfirmationParts;
};

type Answer = { kind: 'confirmation'; isNew: boolean; record: ConfirmationRecord } | ConfirmationRefusal;

const LIFETIME_MS = bounds.confirmationLifetimeMinutes * 60_000;

/**
 * Handles the request of the HTTP route for a confirmation.
 * @throws StorageUnavailable
 */
export async function requestConfirmation(all: RequestParts, request: KeyedRequest): Promise<Answer> {
  const caller = await admit(all, request);
  if (caller.kind !== 'client') return caller;
  const parts = partsFor(all, caller);

  const keyed = await readKeyedBody(request);
  if (keyed.kind !== 'keyed') return keyed;
  const { preview_id: token, via } = keyed.value;
  if (typeof token !== 'string') return { kind: 'previewIdNotText' };

  // The credential may have been revoked while the body arrived.
  const stillCaller = authorize(parts, request, scopeOf.execute);
  if (stillCaller.kind !== 'client') return stillCaller;
  return await requestFor(parts, { client: caller.name, key: keyed.idempotencyKey, token, via });
}

/**
 * Requests a confirmation for an authorized client. A repeated request gets the same answer.
 * @throws StorageUnavailable
 */
export async function requestFor(
  parts: RequestParts,
  { client, key, token, via }: { client: string; key: string; token: string; via: unknown },
): Promise<Answer> {
  const repeated = async (): Promise<Confirmation | undefined> => {
    const { byKey } = await parts.executions.find(client, key, digestOfPreview(token));
    if (byKey === undefined || byKey.preview_digest !== digestOfPreview(token)) return undefined;
    return await parts.confirmations.findOf(client, byKey.action_id);
  };

  const checked = await checkPreview(parts, client, key, token);
  if (checked.kind !== 'open') {
    const before = await repeated();
    if (before !== undefined) return answered(parts, before, token, false);
    return refusalOf(checked);
  }

  const { form, fields, execution } = checked;
  const { email = '' } = fields;
  const isReported = () => parts.mailboxes.hasReported(client, email);
  if (await isReported()) return { kind: 'clientReported' };
  const minimum = parts.confirmationMinimum[form.name];
  const wanted = via === undefined ? (isWeaker(minimum, 'page') ? 'page' : minimum) : via;
  if (!isVia(wanted) || isWeaker(wanted, minimum)) return { kind: 'viaNotValid' };
  if (wanted === 'page_email' && !parts.mailsCodes) return { kind: 'codesNotConfigured' };

  const id = parts.newId();
  const asked = await parts.pending.ask({
    ...execution,
    action_id: id,
    confirmation_text: '',
    confirmed_via: wanted,
    via: wanted,
    secret_digest: digestOfSecret(secretOf(id, token)) ?? '',
    mailbox_digest: await parts.mailboxes.digestOf(email),
    fields: JSON.stringify(fields),
    email,
    lifetimeMs: LIFETIME_MS,
  });
  if (asked.kind === 'tooMany') {
    return { kind: 'tooManyPending', retryAfterSeconds: asked.retryAfterSeconds };
  }
  if (asked.kind === 'taken') {
    const before = await repeated();
    if (before !== undefined) return answered(parts, before, token, false);
    const again = await checkPreview(parts, client, key, token);
    if (again.kind !== 'open') return refusalOf(again);
    return { kind: (await isReported()) ? 'clientReported' : 'previewAlreadyUsed' };
  }
  parts.metrics.countConfirmation('asked');
  parts.metrics.countConfirmation('expired', asked.ended);
  parts.log.info({ confirmationId: id, client, action: form.name, via: wanted }, 'confirmation requested');
  parts.onAsked?.();
  const made = await parts.confirmations.findOf(client, id);
  if (made === undefined) throw new Error('A new confirmation is missing.');
  return answered(parts, made, token, true);
}

/** Returns the refusal. A preview that was executed without a confirmation counts as used. */
function refusalOf(result: ExecuteResult): ConfirmationRefusal {
  const isRecorded = 'receipt' in result || result.kind === 'inProgress';
  return isRecorded ? { kind: 'previewAlreadyUsed' } : result;
}

function answered({ baseUrl }: RequestParts, confirmation: Confirmation, token: string, isNew: boolean): Answer {
  const secret = secretOf(confirmation.id, token);
  const url = baseUrl + pathTo(routes.confirmationPage, { secret });
  return { kind: 'confirmation', isNew, record: recordOf(confirmation, url) };
}

function isVia(given: unknown): given is ConfirmationRow['via'] {
  return given === 'page' || given === 'page_email';
}
