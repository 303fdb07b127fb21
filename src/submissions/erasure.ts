/** A person's submissions, found by their e-mail address, and erased for good (beyond §1). */
import type { OpenTransaction, Selects } from '../storage/database.ts';
import type { Event } from '../upstream/upstream.ts';
import { matching } from './listing-queries.ts';
import { inTurn, newestPieces, type Reading } from './pieces.ts';

export type PersonCounts = {
  leads: number;
  subscriptions: number;
  /** Of both, how many are being sent: those may still arrive. */
  sending: number;
  /** How many say that the person has left the newsletter, and have not arrived (beyond §6). */
  unsubscribed: number;
};

type Found = { id: string; form: string; status: string; event: string | null };

const PIECE_ROWS = 1_000;

/** How many there are of this normalized address; where there are more than `atMost`, of the newest. */
export async function countSubmissionsOf(
  reading: Reading,
  email: string,
  atMost = Number.POSITIVE_INFINITY,
): Promise<PersonCounts> {
  const { storage } = reading;
  const legacy = await storage.read((db) =>
    legacyOf(db, email).where((row) => {
      const copies = row.selectFrom('submissions').select('submissions.id');
      return row.not(row.exists(copies.whereRef('submissions.id', '=', 'inbox.event_id')));
    }),
  );
  const counts = countsOf(legacy, []);
  for await (const { piece } of newestPieces(reading, { email }, { rows: PIECE_ROWS, atMost })) {
    const kept = await inTurn(reading, () =>
      storage.read((db) =>
        matching(storage, db, { email }, piece).select((row) => {
          const mayTell = row.and([
            row('form', '=', 'newsletter'),
            row('status', '<>', 'delivered'),
          ]);
          const told = row.case().when(mayTell).then(row.ref('event')).end();
          return ['id', 'form', 'status', told.as('event')];
        }),
      ),
    );
    for (const [name, count] of Object.entries(countsOf([], kept))) {
      counts[name as keyof PersonCounts] += count;
    }
  }
  return counts;
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
  if (form !== 'newsletter' || status === 'delivered' || event === null) return false;
  return (JSON.parse(event) as Event).type === 'subscriber.unsubscribed';
}
