/** What the operator does to a row (beyond §1, "The operator"): has it sent again, or puts it away. */
import type { OpenTransaction, Selects, Storage } from '../storage/database.ts';
import type { SubmissionRow } from '../storage/schema.ts';
import { attemptsOf } from './attempts.ts';
import { withoutContent } from './content.ts';

/** Why a row is not sent again, or not put away. */
export type Refused =
  | 'unknown'
  | 'agent'
  | 'dismissed'
  | 'delivered'
  | 'underWay'
  | 'contentGone'
  | 'sentUnkept';

/** A row that is marked, and how many attempts it had had by then. */
export type Asked = { id: string; attempts: number };

export type AskedFor = { kind: 'asked'; asked: Asked } | { kind: 'refused'; why: Refused };
export type Dismissed = { kind: 'dismissed' } | { kind: 'refused'; why: Refused };

export const dismissalReasons = ['spam', 'answered', 'other'] as const;
export type DismissalReason = (typeof dismissalReasons)[number];

type Judged = Pick<SubmissionRow, 'origin' | 'status' | 'reason' | 'email' | 'resend_asked_ms'>;

/** Marks a row due for the running service, which alone sends; or says why not. */
export function askForResend(storage: Storage, id: string): Promise<AskedFor> {
  return storage.write(async (tx) => {
    const marked = await tx
      .updateTable('submissions')
      .set({ resend_asked_ms: storage.dialect.wallClock })
      .where('id', '=', id)
      .where('origin', '=', 'browser')
      .where('status', 'in', ['waiting', 'undelivered', 'delivered'])
      .where('resend_asked_ms', 'is', null)
      .where('email', 'is not', null)
      // Sent while the store was away: it is never sent a second time.
      .where((row) => row.or([row('reason', 'is', null), row('reason', '<>', 'sent_unkept')]))
      .returning('attempts')
      .executeTakeFirst();
    if (marked !== undefined) {
      const attempts = attemptsOf(marked.attempts).length;
      return { kind: 'asked' as const, asked: { id, attempts } };
    }
    return { kind: 'refused' as const, why: await refusalOf(tx, id, whyNotSent) };
  });
}

/** The ids of all browser submissions that are undelivered and can still be sent, oldest first. */
export async function undeliveredIds(storage: Storage): Promise<string[]> {
  const rows = await storage.read((db) =>
    db
      .selectFrom('submissions')
      .select(['id', 'origin', 'status', 'reason', 'email', 'resend_asked_ms'])
      .where('status', '=', 'undelivered')
      .where('origin', '=', 'browser')
      .orderBy('received_ms')
      .orderBy('id'),
  );
  return rows.filter((row) => whyNotSent(row) === undefined).map(({ id }) => id);
}

/** Puts a row away for good; where nothing is kept after its end, what was typed goes at once. */
export function dismiss(
  storage: Storage,
  id: string,
  reason: DismissalReason,
  { keepsContent }: { keepsContent: boolean },
): Promise<Dismissed> {
  return storage.write(async (tx) => {
    const dismissed = await tx
      .updateTable('submissions')
      .set({
        status: 'dismissed',
        reason,
        status_since_ms: storage.dialect.wallClock,
        step: null,
        next_attempt_ms: null,
        ...(!keepsContent && withoutContent(storage)),
      })
      .where('id', '=', id)
      .where('status', 'in', ['waiting', 'undelivered'])
      .where('resend_asked_ms', 'is', null)
      .returning('id')
      .executeTakeFirst();
    if (dismissed !== undefined) return { kind: 'dismissed' as const };
    return { kind: 'refused' as const, why: await refusalOf(tx, id, whyNotDismissed) };
  });
}

/** Of a row that the conditional change has passed over, in the same transaction. */
async function refusalOf(
  db: Selects & Pick<OpenTransaction, 'selectFrom'>,
  id: string,
  judge: (row: Judged) => Refused | undefined,
): Promise<Refused> {
  const row = await db
    .selectFrom('submissions')
    .select(['origin', 'status', 'reason', 'email', 'resend_asked_ms'])
    .where('id', '=', id)
    .executeTakeFirst();
  // What has become possible in between was under way when it was tried.
  return row === undefined ? 'unknown' : (judge(row) ?? 'underWay');
}

function whyNotSent(row: Judged): Refused | undefined {
  if (row.origin === 'agent') return 'agent';
  if (isUnderWay(row)) return 'underWay';
  if (row.status === 'dismissed') return 'dismissed';
  if (row.reason === 'sent_unkept') return 'sentUnkept';
  return row.email === null ? 'contentGone' : undefined;
}

function whyNotDismissed(row: Judged): Refused | undefined {
  if (isUnderWay(row)) return 'underWay';
  return row.status === 'dismissed' || row.status === 'delivered' ? row.status : undefined;
}

function isUnderWay(row: Judged): boolean {
  return row.status === 'sending' || row.resend_asked_ms !== null;
}
