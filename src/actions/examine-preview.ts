/**
 * What stands between a preview and its execution: what is recorded of it, then the token itself (contract §4,
 * "Order inside execute"). The route of execute and the tool of beyond §3 ask the same.
 */
import type { ExecuteRefusal } from '../failures/refusals.ts';
import { type Form, findForm } from '../forms/catalog.ts';
import type { ExecutionRow } from '../storage/schema.ts';
import { destinationOf } from '../submissions/recipient.ts';
import type { Executions } from './executions.ts';
import type { PreviewParts } from './preview.ts';
import { digestOfPreview, openPreview, type Preview } from './preview-token.ts';
import { type Receipt, receiptOf } from './receipt.ts';

/** How soon it is worth asking what a person has answered (beyond §4). */
export const ASKED_AGAIN_AFTER_SECONDS = 5;

type ExamineParts = Pick<PreviewParts, 'signingKeys' | 'parties' | 'clock'> & {
  executions: Pick<Executions, 'find'>;
};

export type ExecuteResult =
  | { kind: 'submitted'; receipt: Receipt; replay: boolean }
  | ExecuteRefusal<Receipt>;

/** A preview that nothing is recorded of and that may be executed, by that client under that key. */
export type OpenPreview = {
  kind: 'open';
  form: Form;
  preview: Preview;
  client: string;
  idempotencyKey: string;
  previewDigest: string;
};

/**
 * What is recorded of a token comes first, then the token itself (contract §4, "Order inside execute"). Where
 * no action is named, it is the preview's own. Throws `StorageUnavailable`.
 */
export async function examinePreview(
  parts: ExamineParts,
  client: string,
  idempotencyKey: string,
  token: string,
  action?: string,
): Promise<OpenPreview | ExecuteResult> {
  const previewDigest = digestOfPreview(token);
  const recorded = await parts.executions.find(client, idempotencyKey, previewDigest);
  const judged = judgeRecorded(recorded, previewDigest, action);
  if (judged !== undefined) return judged;

  const opened = openPreview(parts.signingKeys, token, parts.clock.now());
  if (opened.kind === 'expired') return { kind: 'expiredPreview' };
  if (opened.kind !== 'open') return { kind: 'invalidPreview' };
  const { preview } = opened;
  if (action !== undefined && preview.action !== action) return { kind: 'otherAction' };
  const form = findForm(preview.action);
  // The person agreed to one party: where that is another by now, they have to be asked again.
  if (form === undefined || parts.parties === undefined) return { kind: 'invalidPreview' };
  if (preview.destination !== destinationOf(form, parts.parties)) return { kind: 'invalidPreview' };
  return { kind: 'open', form, preview, client, idempotencyKey, previewDigest };
}

/**
 * What is recorded for this client and key comes first, then what is for this preview. A key that was used
 * with another preview is a conflict, of whatever action that one was (spec §7.1).
 */
export function judgeRecorded(
  recorded: { byKey: ExecutionRow | undefined; byPreview: ExecutionRow | undefined },
  previewDigest: string,
  action: string | undefined,
): ExecuteResult | undefined {
  const { byKey, byPreview } = recorded;
  const isOther = (row: ExecutionRow) => action !== undefined && row.action !== action;
  if (byKey !== undefined) {
    if (byKey.preview_digest !== previewDigest) return { kind: 'idempotencyConflict' };
    if (isOther(byKey)) return { kind: 'otherAction' };
    const unsent = judgeUnsent(byKey);
    if (unsent !== undefined) return unsent;
    if (byKey.status === 'asked') {
      return { kind: 'confirmationPending', retryAfterSeconds: ASKED_AGAIN_AFTER_SECONDS };
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
  return judgeUnsent(byPreview) ?? { kind: 'previewAlreadyUsed' };
}

/** What the person has refused, or not answered in time: the same for whoever asks (beyond §4). */
function judgeUnsent({ status }: Pick<ExecutionRow, 'status'>): ExecuteResult | undefined {
  if (status === 'declined' || status === 'reported') return { kind: 'confirmationDeclined' };
  return status === 'expired' ? { kind: 'expiredPreview' } : undefined;
}
