/** What time does to the rows of the console (beyond §7): links, sessions, and the audit at its end. */
import { isoTime } from '../clock.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Beyond §7: without a request, and in all. */
export const IDLE_MS = DAY_MS / 2;
export const LIFETIME_MS = 7 * DAY_MS;

/** In the transaction of a sign-in: sessions and links that nobody can use any more. */
export async function forgetEnded(tx: OpenTransaction, nowMs: number): Promise<void> {
  const begun = isoTime(nowMs - LIFETIME_MS);
  const seen = isoTime(nowMs - IDLE_MS);
  await tx
    .deleteFrom('operator_sessions')
    .where((row) => row.or([row('signed_in_at', '<=', begun), row('last_seen_at', '<=', seen)]))
    .execute();
  await tx.deleteFrom('operator_links').where('expires_at', '<=', isoTime(nowMs)).execute();
}

/** Those, and what of the audit is older than receipts are kept. Throws `StorageUnavailable`. */
export async function forgetOld(
  storage: Storage,
  { nowMs, days }: { nowMs: number; days: number },
): Promise<void> {
  await storage.write(async (tx) => {
    await forgetEnded(tx, nowMs);
    await tx
      .deleteFrom('operator_audit')
      .where('at', '<', isoTime(nowMs - days * DAY_MS))
      .execute();
  });
}
