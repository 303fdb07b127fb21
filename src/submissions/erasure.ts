/** A person's submissions, found by their e-mail address, and erased for good (beyond §1). */
import type { OpenTransaction, Selects, Storage } from '../storage/database.ts';
import type { Event } from '../upstream/upstream.ts';

export type PersonCounts = {
  leads: number;
  subscriptions: number;
  /** Of both, how many are being sent: those may still arrive. */
  sending: number;
  /** How many say that the person has left the newsletter, and have not arrived (beyond §6). */
  unsubscribed: number;
};

type Found = { id: string; form: string; status: string; event: string };

/** How many there are of this normalized address. */
export async function countSubmissionsOf(storage: Storage, email: string): Promise<PersonCounts> {
  const legacy = await storage.read((db) => legacyOf(db, email));
  const kept = await storage.read((db) =>
    db
      .selectFrom('submissions')
      .select(['id', 'form', 'status', 'event'])
      .where('email', '=', email),
  );
  return countsOf(legacy, kept);
}

/**
 * Deletes them, attempts and all, in both tables; returns how many there were, and their ids. First in the one from which rows
 * are copied: so none is copied in between.
 */
export async function eraseSubmissionsOf(
  tx: OpenTransaction,
  email: string,
): Promise<{ counts: PersonCounts; ids: string[] }> {
  const legacy = await tx
    .deleteFrom('inbox')
    .where('email', '=', email)
    .returning(['event_id as id', 'form'])
    .execute();
  const kept = await tx
    .deleteFrom('submissions')
    .where('email', '=', email)
    .returning(['id', 'form', 'status', 'event'])
    .execute();
  return { counts: countsOf(legacy, kept), ids: kept.map(({ id }) => id) };
}

function legacyOf(db: Selects, email: string) {
  return db.selectFrom('inbox').select(['event_id as id', 'form']).where('email', '=', email);
}

/** A submission that was copied is one; an event of a subscription is counted with those. */
function countsOf(
  legacy: readonly Pick<Found, 'id' | 'form'>[],
  kept: readonly Found[],
): PersonCounts {
  const formOf = new Map([...legacy, ...kept].map(({ id, form }) => [id, form]));
  const subscriptions = [...formOf.values()].filter((form) => form === 'newsletter').length;
  return {
    leads: formOf.size - subscriptions,
    subscriptions,
    sending: kept.filter(({ status }) => status === 'sending').length,
    unsubscribed: kept.filter(saysThatTheyLeft).length,
  };
}

function saysThatTheyLeft({ form, status, event }: Found): boolean {
  if (form !== 'newsletter' || status === 'delivered') return false;
  return (JSON.parse(event) as Event).type === 'subscriber.unsubscribed';
}
