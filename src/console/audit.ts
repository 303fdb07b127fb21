/** What operators did, and what they looked at (beyond §7): who, when, what, and ids; nothing that was typed. */
import { isoTime } from '../clock.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';
import type { OperatorAuditRow } from '../storage/operator-schema.ts';

/** Each kind, as people read it. */
const deeds = {
  signed_in: 'Signed in',
  signed_out: 'Signed out',
  signed_out_everywhere: 'Signed out everywhere',
  saw_leads: 'Looked at the list of leads',
  saw_lead: 'Looked at a lead',
  resent: 'Had a lead sent again',
  dismissed: 'Dismissed a lead',
  marked_spam: 'Marked a lead as spam',
  exported_leads: 'Exported leads',
  saw_person: 'Looked at everything about a person',
  exported_person: 'Exported everything about a person',
  deleted_person: 'Deleted everything about a person',
  saw_subscribers: 'Looked at the subscribers',
  saw_confirmations: 'Looked at the confirmations',
  saw_messages: 'Looked at the messages',
  resent_message: 'Had a message sent again',
} as const;

export type Deed = keyof typeof deeds;

/** What it was about: never a value of a field or of a filter. */
export type About = { ids?: readonly string[]; count?: number; filters?: readonly string[] };

type Entry = Pick<OperatorAuditRow, 'id' | 'at' | 'name'> & { what: Deed; about?: About };

/** An entry as people read it. */
export type AuditEntry = { id: string; at: string; name: string; what: string; about: About };

/** A place in the order of `at` and `id`. */
export type AuditCursor = Pick<OperatorAuditRow, 'at' | 'id'>;

/** Writes it down in the transaction of what it tells. */
export async function recordIn(tx: OpenTransaction, entry: Entry): Promise<void> {
  const { about = {}, ...row } = entry;
  await tx
    .insertInto('operator_audit')
    .values({ ...row, about: JSON.stringify(about) })
    .execute();
}

/** Takes the parts and who does it; returns what writes an entry down by itself, and its id. Throws `StorageUnavailable`. */
export function recorder(
  { storage, newId, clock }: { storage: Storage; newId: () => string; clock: { now(): Date } },
  name: string,
): (what: Deed, about?: About) => Promise<string> {
  return async (what, about = {}) => {
    const entry = { id: newId(), at: isoTime(clock.now().getTime()), name, what, about };
    await storage.write((tx) => recordIn(tx, entry));
    return entry.id;
  };
}

/** What is known of an entry only at its end. Throws `StorageUnavailable`. */
export async function recordCount(storage: Storage, id: string, about: About): Promise<void> {
  await storage.write(async (tx) => {
    await tx
      .updateTable('operator_audit')
      .set({ about: JSON.stringify(about) })
      .where('id', '=', id)
      .execute();
  });
}

/** Up to `limit` entries, newest first. */
export async function latestEntries(
  storage: Storage,
  limit: number,
  before?: AuditCursor,
): Promise<AuditEntry[]> {
  const rows = await storage.read((db) => {
    const newest = db
      .selectFrom('operator_audit')
      .selectAll()
      .orderBy('at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit);
    if (before === undefined) return newest;
    return newest.where((row) =>
      row(row.refTuple('at', 'id'), '<', row.tuple(before.at, before.id)),
    );
  });
  return rows.map(({ about, what, ...row }) => ({
    ...row,
    what: Object.hasOwn(deeds, what) ? deeds[what as Deed] : what,
    about: JSON.parse(about) as About,
  }));
}
