/** Asking for the person's own press, top to bottom (beyond §4), in the order of execute. */
import { admit, authorize, readKeyedBody } from '../actions/admission.ts';
import type { AskResult } from '../actions/asked.ts';
import {
  type ExecuteResult,
  examinePreview,
  type OpenPreview,
} from '../actions/examine-preview.ts';
import { type ExecuteParts, isReportedBy } from '../actions/execute.ts';
import { isBelow } from '../actions/minimum.ts';
import { digestOfPreview } from '../actions/preview-token.ts';
import type { ConfirmationRefusal } from '../failures/refusals.ts';
import { bounds } from '../forms/bounds.ts';
import type { ReadBody } from '../http/read-body.ts';
import type { Rate } from '../limits/limits.ts';
import type { Metrics } from '../operations/metrics.ts';
import { pathTo, routes } from '../routes.ts';
import type { ConfirmationRow } from '../storage/confirmation-schema.ts';
import {
  type Confirmation,
  type ConfirmationRecord,
  type Confirmations,
  recordOf,
} from './confirmations.ts';
import { digestOfSecret, secretOf } from './secrets.ts';

export type AskParts = ExecuteParts & {
  confirmations: Confirmations;
  /** Without a trailing slash: where the person's page is. */
  baseUrl: string;
  /** Whether a code can be mailed. */
  mailsCodes: boolean;
  metrics: Pick<Metrics, 'countConfirmation'>;
};

type AskRequest = {
  authorization: readonly string[];
  /** Every line of the header, as it came. */
  idempotencyKeys: readonly string[];
  takeFromLimit(): Promise<Rate>;
  readBody(): Promise<ReadBody>;
};

type Answer =
  | { kind: 'confirmation'; isNew: boolean; record: ConfirmationRecord }
  | ConfirmationRefusal;

const LIFETIME_MS = bounds.confirmationLifetimeMinutes * 60_000;

/** The chain of the route. Throws `StorageUnavailable`. */
export async function ask(parts: AskParts, request: AskRequest): Promise<Answer> {
  const caller = await admit(parts, request);
  if (caller.kind !== 'client') return caller;

  const keyed = await readKeyedBody(request);
  if (keyed.kind !== 'keyed') return keyed;
  const { preview_id: token, via } = keyed.value;
  if (typeof token !== 'string') return { kind: 'previewIdNotText' };

  // Whoever was revoked while the body came asks for nothing.
  const stillCaller = authorize(parts, request);
  if (stillCaller.kind !== 'client') return stillCaller;
  return await askFor(parts, { client: caller.name, key: keyed.idempotencyKey, token, via });
}

/** Asks on behalf of a client that may; a repeat says the same again. Throws `StorageUnavailable`. */
export async function askFor(
  parts: AskParts,
  { client, key, token, via }: { client: string; key: string; token: string; via: unknown },
): Promise<Answer> {
  const repeated = async (): Promise<Confirmation | undefined> => {
    const { byKey } = await parts.executions.find(client, key, digestOfPreview(token));
    if (byKey === undefined || byKey.preview_digest !== digestOfPreview(token)) return undefined;
    return await parts.confirmations.findOf(client, byKey.action_id);
  };

  const examined = await examinePreview(parts, client, key, token);
  if (examined.kind !== 'open') {
    const before = await repeated();
    if (before !== undefined) return answered(parts, before, token, false);
    return withoutAsking(examined);
  }

  const { form, preview } = examined;
  if (await isReportedBy(parts, client, preview.fields)) return { kind: 'clientReported' };
  const minimum = parts.confirmationMinimum[form.name];
  const wanted = via === undefined ? (isBelow(minimum, 'page') ? 'page' : minimum) : via;
  if (!isVia(wanted) || isBelow(wanted, minimum)) return { kind: 'viaNotValid' };
  if (wanted === 'page_email' && !parts.mailsCodes) return { kind: 'codesNotConfigured' };

  const id = parts.newId();
  const asked = await insert(parts, examined, { id, token, via: wanted });
  if (asked.kind === 'tooMany') {
    return { kind: 'tooManyPending', retryAfterSeconds: asked.retryAfterSeconds };
  }
  if (asked.kind === 'taken') {
    const before = await repeated();
    if (before !== undefined) return answered(parts, before, token, false);
    const again = await examinePreview(parts, client, key, token);
    return again.kind === 'open' ? { kind: 'previewAlreadyUsed' } : withoutAsking(again);
  }
  parts.metrics.countConfirmation('asked');
  parts.metrics.countConfirmation('expired', asked.ended);
  parts.log.info(
    { confirmationId: id, client, action: form.name, via: wanted },
    'asked to confirm',
  );
  const made = await parts.confirmations.findOf(client, id);
  if (made === undefined) throw new Error('A confirmation that was asked is gone.');
  return answered(parts, made, token, true);
}

/** What was executed without asking, however that ended, is used up. */
function withoutAsking(result: ExecuteResult): ConfirmationRefusal {
  const isRecorded = 'receipt' in result || result.kind === 'inProgress';
  return isRecorded ? { kind: 'previewAlreadyUsed' } : result;
}

async function insert(
  parts: AskParts,
  { form, preview, client, idempotencyKey, previewDigest }: OpenPreview,
  { id, token, via }: { id: string; token: string; via: ConfirmationRow['via'] },
): Promise<AskResult> {
  const { fields, destination } = preview;
  const email = fields.email ?? '';
  const mailboxes = await parts.mailboxes.digestsOf(email);
  return await parts.executions.asked.ask({
    actionId: id,
    action: form.name,
    client,
    idempotencyKey,
    previewDigest,
    confirmationText: '',
    confirmedVia: via,
    mailboxes,
    via,
    destination,
    secret_digest: digestOfSecret(secretOf(id, token)) ?? '',
    lifetimeMs: LIFETIME_MS,
    fields: JSON.stringify(fields),
    email,
  });
}

function answered(
  { baseUrl }: AskParts,
  confirmation: Confirmation,
  token: string,
  isNew: boolean,
): Answer {
  const secret = secretOf(confirmation.id, token);
  const url = baseUrl + pathTo(routes.confirmationPage, { secret });
  return { kind: 'confirmation', isNew, record: recordOf(confirmation, url) };
}

function isVia(given: unknown): given is ConfirmationRow['via'] {
  return given === 'page' || given === 'page_email';
}
