/**
 * Seals and opens a preview token, `<payload>.<signature>` (reference §5.4). The signature is an HMAC-SHA256 over
 * purpose, version and the encoded payload. `openPreview` checks the signature before it reads the payload. So a token
 * has exactly one valid spelling.
 *
 * `checkPreview` decides whether a preview can be executed: recorded executions come first, then the token (reference
 * §5.7). The execute route and the MCP tool of reference §8.7 use this function.
 */
import { hash } from 'node:crypto';
import type { ExecuteRefusal } from '../failures/refusals.ts';
import { bounds } from '../forms/bounds.ts';
import { type Form, type FormName, findForm } from '../forms/catalog.ts';
import type { Fields } from '../forms/validate.ts';
import { CLOCKS_APART_MS, type Clock } from '../platform/clock.ts';
import { newId } from '../platform/random.ts';
import { isSignedFor, type SigningKeys, signFor } from '../settings/signing-keys.ts';
import type { ExecutionRow } from '../storage/schema.ts';
import { destinationOf, type Parties } from '../submissions/submission.ts';
import type { ClaimRequest } from './execution-queries.ts';
import { type Executions, type Receipt, receiptOf } from './executions.ts';

/** Lifetime of a preview (reference §5.4). */
export const PREVIEW_LIFETIME_MS = bounds.previewLifetimeMinutes * 60_000;

export type Preview = {
  action: FormName;
  fields: Fields;
  /** Name of the receiver that the person saw. An execution goes to no other receiver. */
  destination: string;
  /** Creation time on the wall clock, in milliseconds. Only the wall clock expires a preview. */
  createdAt: number;
};

export type OpenedPreview =
  | { kind: 'open'; preview: Preview }
  | { kind: 'forged' }
  | { kind: 'future' }
  | { kind: 'expired' };

type Payload = { id: string; a: FormName; f: Fields; d: string; t: number };

/** A preview of a sandbox client has another purpose, so it is invalid for a real client, and the reverse. */
const purposeOf = (sandbox: boolean) => `lead-intake ${sandbox ? 'sandbox ' : ''}preview v1\n`;

/** Returns a token. Needs at least one key. The id makes two previews of equal fields in one millisecond different. */
export function sealPreview(keys: SigningKeys, preview: Preview, id = newId(), sandbox = false): string {
  const payload: Payload = {
    id,
    a: preview.action,
    f: preview.fields,
    d: preview.destination,
    t: preview.createdAt,
  };
  const encoded = Buffer.from(JSON.stringify(payload)).toString('base64url');
  return `${encoded}.${signFor(purposeOf(sandbox), keys, encoded)}`;
}

/** Returns the preview in a token, or the reason why it cannot be executed. */
export function openPreview(keys: SigningKeys, token: string, now: Date, sandbox = false): OpenedPreview {
  const dot = token.lastIndexOf('.');
  const encoded = token.slice(0, Math.max(dot, 0));
  const signature = token.slice(dot + 1);
  if (!isSignedFor(purposeOf(sandbox), keys, encoded, signature)) return { kind: 'forged' };
  const payload = JSON.parse(Buffer.from(encoded, 'base64url').toString()) as Payload;
  // An invalid time is NaN, for which every comparison is false, so the preview has expired.
  const isAlive = now.getTime() < payload.t + PREVIEW_LIFETIME_MS;
  if (!isAlive) return { kind: 'expired' };
  if (payload.t > now.getTime() + CLOCKS_APART_MS) return { kind: 'future' };
  const { a: action, f: fields, d: destination, t: createdAt } = payload;
  return { kind: 'open', preview: { action, fields, destination, createdAt } };
}

/** Returns the SHA-256 of a token, in hex. The token itself is not stored, because it contains the fields. */
export function digestOfPreview(token: string): string {
  return hash('sha256', token, 'hex');
}

/** `Retry-After` while a confirmation is pending, in seconds (reference §6.3). */
export const PENDING_RETRY_SECONDS = 5;

type CheckParts = {
  signingKeys: SigningKeys;
  parties: Parties | undefined;
  clock: Clock;
  executions: Pick<Executions, 'find'>;
  /** True if the client is a sandbox client. */
  isSandbox?: boolean;
};

export type ExecuteResult = { kind: 'submitted'; receipt: Receipt; replay: boolean } | ExecuteRefusal<Receipt>;

/** A preview without a recorded execution, which this client may execute under this key. */
export type OpenPreview = {
  kind: 'open';
  form: Form;
  fields: Fields;
  /** Columns of the row that the execution of this preview writes. */
  execution: Omit<ClaimRequest, 'action_id' | 'confirmation_text' | 'confirmed_via'>;
};

/**
 * Returns the open preview, or the recorded result, or a refusal. If `action` is undefined, any form is accepted.
 * @throws StorageUnavailable
 */
export async function checkPreview(
  parts: CheckParts,
  client: string,
  idempotency_key: string,
  token: string,
  action?: string,
): Promise<OpenPreview | ExecuteResult> {
  const key = { client, idempotency_key, preview_digest: digestOfPreview(token) };
  const recorded = await findRecorded(parts, key, action);
  if (recorded !== undefined) return recorded;

  const opened = openPreview(parts.signingKeys, token, parts.clock.now(), parts.isSandbox);
  if (opened.kind === 'expired') return { kind: 'expiredPreview' };
  if (opened.kind !== 'open') return { kind: 'invalidPreview' };
  const { fields, destination } = opened.preview;
  if (action !== undefined && opened.preview.action !== action) return { kind: 'otherAction' };
  const form = findForm(opened.preview.action);
  // The person agreed to one receiver. After a change of the receiver, they have to agree again.
  if (form === undefined || parts.parties === undefined) return { kind: 'invalidPreview' };
  if (destination !== destinationOf(form, parts.parties)) return { kind: 'invalidPreview' };
  return { kind: 'open', form, fields, execution: { ...key, action: form.name, destination } };
}

/** Returns the result of an execution that is recorded for this key or this preview. */
export async function findRecorded(
  { executions }: Pick<CheckParts, 'executions'>,
  of: Pick<ClaimRequest, 'client' | 'idempotency_key' | 'preview_digest'>,
  action: string | undefined,
): Promise<ExecuteResult | undefined> {
  const { client, idempotency_key, preview_digest } = of;
  const recorded = await executions.find(client, idempotency_key, preview_digest);
  return resultOfRecorded(recorded, preview_digest, action);
}

/**
 * Returns the result of the recorded rows. The row of the client's key decides before the row of the preview. A key
 * that was used with another preview is a conflict for every action (reference §5.8).
 */
function resultOfRecorded(
  recorded: { byKey: ExecutionRow | undefined; byPreview: ExecutionRow | undefined },
  previewDigest: string,
  action: string | undefined,
): ExecuteResult | undefined {
  const { byKey, byPreview } = recorded;
  const isOther = (row: ExecutionRow) => action !== undefined && row.action !== action;
  if (byKey !== undefined) {
    if (byKey.preview_digest !== previewDigest) return { kind: 'idempotencyConflict' };
    if (isOther(byKey)) return { kind: 'otherAction' };
    const unsent = refusalOfUnsent(byKey);
    if (unsent !== undefined) return unsent;
    if (byKey.status === 'asked') {
      return { kind: 'confirmationPending', retryAfterSeconds: PENDING_RETRY_SECONDS };
    }
    if (byKey.status === 'executing') return { kind: 'inProgress' };
    const receipt = receiptOf(byKey);
    return {
      kind: byKey.status === 'submitted' ? 'submitted' : 'upstreamUnconfirmed',
      receipt,
      replay: true,
    };
  }
  if (byPreview === undefined) return undefined;
  if (isOther(byPreview)) return { kind: 'otherAction' };
  return refusalOfUnsent(byPreview) ?? { kind: 'previewAlreadyUsed' };
}

/** Returns the refusal if the person declined the preview, reported it or did not answer in time (reference §6.3). */
function refusalOfUnsent({ status }: Pick<ExecutionRow, 'status'>): ExecuteResult | undefined {
  if (status === 'declined' || status === 'reported') return { kind: 'confirmationDeclined' };
  return status === 'expired' ? { kind: 'expiredPreview' } : undefined;
}
