/** Checks which answer an execution may get, by the stored executions and the order of reference §5.7. */
import { digestOfPreview } from '../src/actions/preview-token.ts';
import { TESTER } from './clients.ts';
import type { ExecuteAnswer } from './ledger.ts';

/** An execution as it was first seen in the store. */
export type Recorded = {
  action_id: string;
  action: string;
  client: string;
  idempotency_key: string;
  preview_digest: string;
  status: string;
  /** 1 if the client is a sandbox client. */
  sandbox: number;
  seenAt: number;
  leaseEndsAt: number;
};

/** Statuses of executions that have no receipt and are never sent. */
export const NEVER_SENT: ReadonlySet<string> = new Set(['declined', 'reported', 'expired']);

/**
 * Returns the fault of the answer, or undefined if it is correct. A record never disappears. An answer that reports a
 * record must match it now. An answer that ignores a record must belong to a request that began before the record was
 * seen.
 */
export function faultOfAnswer(rows: Iterable<Recorded>, given: ExecuteAnswer): string | undefined {
  // The service refuses a token that is no text before it reads the store.
  if (typeof given.token !== 'string') return undefined;
  const digest = digestOfPreview(given.token);
  let byKey: Recorded | undefined;
  let byPreview: Recorded | undefined;
  let hasReported = false;
  for (const row of rows) {
    if (row.client === given.client && row.idempotency_key === given.key) byKey = row;
    // A preview of the other kind of client is invalid, whether it was executed or not (reference §27.3).
    if (row.preview_digest === digest && (row.sandbox === 1) === (given.client === TESTER)) byPreview = row;
    if (row.client === given.client && row.status === 'reported') hasReported = true;
  }
  const isEarlier = (row: Recorded | undefined) => row !== undefined && row.seenAt < given.at;
  const isReplay = byKey !== undefined && byKey.preview_digest === digest;
  const isConflict = byKey !== undefined && byKey.preview_digest !== digest;
  const said = `${given.client}/${given.key} was told ${given.answer}`;

  const isUnsent = (row: Recorded | undefined) => row !== undefined && NEVER_SENT.has(row.status);

  if (given.receiptOf !== undefined) {
    if (isUnsent(byKey)) return `${said} with a receipt of what the person refused`;
    return isReplay && byKey?.action_id === given.receiptOf ? undefined : `${said} with the receipt of another`;
  }
  switch (given.answer) {
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
      // The report may concern another request to the same person.
      return hasReported ? undefined : `${said}, and nobody reported that client`;
    case 'expiredPreview':
    case 'invalidPreview':
      if (byKey?.status === 'expired' || byPreview?.status === 'expired') return undefined;
      return isEarlier(byKey) || isEarlier(byPreview) ? `${said}, and is recorded` : undefined;
    default:
      return undefined;
  }
}
