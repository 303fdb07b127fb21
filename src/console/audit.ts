/**
 * The audit (reference §12.12): each action or view of an operator, with time and ids. The audit contains no text that
 * a person typed.
 */
import { isoTime } from '../platform/clock.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';
import type { OperatorAuditRow } from '../storage/operation-schema.ts';
import type { Progress } from '../storage/schema.ts';

/** Text of each action. */
const actionWords = {
  signed_in: 'Signed in',
  signed_out: 'Signed out',
  signed_out_everywhere: 'Signed out everywhere',
  saw_leads: 'Looked at the list of leads',
  saw_lead: 'Looked at a lead',
  resent: 'Resent a lead',
  dismissed: 'Dismissed a lead',
  marked_spam: 'Marked a lead as spam',
  marked: 'Marked leads',
  undid: 'Undid a change of progress',
  noted: 'Changed the note of a lead',
  saw_report: 'Marked reports as seen',
  exported_leads: 'Exported leads',
  saw_person: 'Looked at everything about a person',
  exported_person: 'Exported everything about a person',
  deleted_person: 'Deleted everything about a person',
  saw_subscribers: 'Looked at the subscribers',
  exported_subscribers: 'Exported subscribers',
  saw_confirmations: 'Looked at the confirmations',
  saw_messages: 'Looked at the messages',
  issued: 'Issued a credential',
  rotated: 'Rotated a credential',
  revoked: 'Revoked a credential',
  disconnected: 'Disconnected a host',
  resent_message: 'Resent a message',
} as const;

export type AuditAction = keyof typeof actionWords;

/** Subject of an entry, which never contains the value of a field or filter. */
export type About = {
  ids?: readonly string[];
  count?: number;
  filters?: readonly string[];
  progress?: Progress;
  /** Name of a client, with the ids of its credentials. */
  client?: string;
  credentials?: readonly string[];
  /** Name of a host that was connected with OAuth. */
  host?: string;
};

/** An entry without its id and time. */
type Audited = { name: string; what: AuditAction; about?: About };

export type AuditParts = { storage: Storage; newId: () => string; clock: { now(): Date } };

/** Result of a change: its audit entry, or the reason why the change was refused. Without both, nothing has changed. */
type Changed<R> = { entry?: Audited } | { refused: R };

/**
 * Commits a change together with its entry. Returns undefined, or the reason why nothing was changed. A change in
 * `bulk` can have many rows.
 */
export type Commit = <R = never>(
  change: (tx: OpenTransaction) => Promise<Changed<R>>,
  options?: { bulk: boolean },
) => Promise<R | undefined>;

/** An entry as people read it. */
export type AuditEntry = { id: string; at: string; name: string; what: string; about: About };

/** A position in the order of `at` and `id`. */
export type AuditCursor = Pick<OperatorAuditRow, 'at' | 'id'>;

async function insert(tx: OpenTransaction, { about = {}, ...row }: AuditCursor & Audited): Promise<void> {
  await tx
    .insertInto('operator_audit')
    .values({ ...row, about: JSON.stringify(about) })
    .execute();
}

/**
 * Returns the only function by which the console changes anything. The function commits a change and its entry in one
 * transaction (reference §12.12).
 * @throws StorageUnavailable
 */
export function committer({ storage, newId, clock }: AuditParts): Commit {
  return (change, { bulk } = { bulk: false }) => {
    // Id and time are made before the transaction, whose function runs again after a rollback.
    const place = { id: newId(), at: isoTime(clock.now().getTime()) };
    return storage[bulk ? 'writeBulk' : 'write'](async (tx) => {
      const changed = await change(tx);
      if ('refused' in changed) return changed.refused;
      if (changed.entry !== undefined) await insert(tx, { ...place, ...changed.entry });
      return undefined;
    });
  };
}

/**
 * Returns a function that commits an entry of this operator and returns its id.
 * @throws StorageUnavailable
 */
export function recorder({ storage, newId, clock }: AuditParts, name: string) {
  return async (what: AuditAction, about: About = {}): Promise<string> => {
    const entry = { id: newId(), at: isoTime(clock.now().getTime()), name, what, about };
    await storage.write((tx) => insert(tx, entry));
    return entry.id;
  };
}

/**
 * Replaces the subject of an entry. The count of a download, for example, is final only at its end.
 * @throws StorageUnavailable
 */
export async function recordCount(storage: Storage, id: string, about: About): Promise<void> {
  await storage.write(async (tx) => {
    await tx
      .updateTable('operator_audit')
      .set({ about: JSON.stringify(about) })
      .where('id', '=', id)
      .execute();
  });
}

/** Returns up to `limit` entries, newest first. */
export async function latestEntries(storage: Storage, limit: number, before?: AuditCursor): Promise<AuditEntry[]> {
  const rows = await storage.read((db) => {
    const newest = db.selectFrom('operator_audit').selectAll().orderBy('at', 'desc').orderBy('id', 'desc').limit(limit);
    if (before === undefined) return newest;
    return newest.where((row) => row(row.refTuple('at', 'id'), '<', row.tuple(before.at, before.id)));
  });
  return rows.map(({ about, what, ...row }) => ({
    ...row,
    what: Object.hasOwn(actionWords, what) ? actionWords[what as AuditAction] : what,
    about: JSON.parse(about) as About,
  }));
}
