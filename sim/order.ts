/** Which answer an execution may get, by what is recorded and the order of contract §4, "Order inside execute". */
import { digestOfPreview } from '../src/actions/preview-token.ts';
import type { Asked } from './ledger.ts';

/** An execution as it was first seen in the store. */
export type Recorded = {
  action_id: string;
  action: string;
  client: string;
  idempotency_key: string;
  preview_digest: string;
  status: string;
  seenAt: number;
  leaseEndsAt: number;
};

/** What the person has refused: it has no receipt, and is never sent. */
export const NEVER_SENT: ReadonlySet<string> = new Set(['declined', 'reported', 'expired']);

/**
 * What is wrong with the answer, or undefined. What is recorded stays so: an answer that says it must be
 * borne out now, and one that passes over it must not have been asked for afterwards.
 */
export function faultOfAnswer(rows: Iterable<Recorded>, asked: Asked): string | undefined {
  // Judged before the store is asked.
  if (typeof asked.token !== 'string') return undefined;
  const digest = digestOfPreview(asked.token);
  let byKey: Recorded | undefined;
  let byPreview: Recorded | undefined;
  for (const row of rows) {
    if (row.client === asked.client && row.idempotency_key === asked.key) byKey = row;
    if (row.preview_digest === digest) byPreview = row;
  }
  const isEarlier = (row: Recorded | undefined) => row !== undefined && row.seenAt < asked.at;
  const isReplay = byKey !== undefined && byKey.preview_digest === digest;
  const isConflict = byKey !== undefined && byKey.preview_digest !== digest;
  const said = `${asked.client}/${asked.key} was told ${asked.answer}`;

  const isUnsent = (row: Recorded | undefined) => row !== undefined && NEVER_SENT.has(row.status);

  if (asked.receiptOf !== undefined) {
    if (isUnsent(byKey)) return `${said} with a receipt of what the person refused`;
    return isReplay && byKey?.action_id === asked.receiptOf
      ? undefined
      : `${said} with the receipt of another`;
  }
  switch (asked.answer) {
    case 'inProgress':
      return isReplay ? undefined : `${said}, and has no execution`;
    case 'idempotencyConflict':
      return isConflict ? undefined : `${said}, and the key is free`;
    case 'previewAlreadyUsed':
      if (byPreview === undefined || isReplay) return `${said}, and the preview is not used`;
      return isEarlier(byKey) ? `${said}, and the key is another preview's` : undefined;
    case 'otherAction':
      return isConflict && isEarlier(byKey) ? `${said}, and the key is another's` : undefined;
    case 'confirmationDeclined':
      return isUnsent(byKey) || isUnsent(byPreview) ? undefined : `${said}, and nobody declined`;
    case 'clientReported':
      // It was examined before its person reported the client, and refused afterwards.
      return byPreview?.status === 'reported' && byPreview.client === asked.client
        ? undefined
        : `${said}, and nobody reported that client`;
    case 'expiredPreview':
    case 'invalidPreview':
      if (byKey?.status === 'expired' || byPreview?.status === 'expired') return undefined;
      return isEarlier(byKey) || isEarlier(byPreview) ? `${said}, and is recorded` : undefined;
    default:
      return undefined;
  }
}
