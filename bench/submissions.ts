/**
 * `node bench/submissions.ts`: what redelivery, a person's second try and the operator's list cost while ever
 * more submissions are kept, on every database that answers here.
 */
import { randomUUIDv7 } from 'node:crypto';
import { systemClock } from '../src/clock.ts';
import type { Storage } from '../src/storage/database.ts';
import type { SubmissionRow } from '../src/storage/schema.ts';
import { submissionPage } from '../src/submissions/listing.ts';
import { prepareSubmissionQueries } from '../src/submissions/submission-queries.ts';
import { databases } from '../test/support/databases.ts';
import { median } from './median.ts';

const SIZES = [1_000, 100_000, 1_000_000];
const ROWS_PER_INSERT = 1_000;

/** So many have not arrived, however many are kept. */
const OPEN = 40;

for (const [name, create] of databases) {
  const database = await create();
  const storage = await database.open(systemClock);
  const queries = prepareSubmissionQueries(storage, { leaseMs: 15_000, keepsDelivered: true });
  const reading = { storage, clock: systemClock };
  const measured = {
    'next due': () => storage.read(queries.nextDue({ limit: 1 })),
    'next asked for': () => storage.read(queries.nextAskedFor({ limit: 1 })),
    'run out': () => storage.read(queries.expired({ limit: 100 })),
    'the same again': () => storage.read(queries.findEqual({ fields_digest: 'none' })),
    'list, 20 newest': () => submissionPage(reading, {}, { limit: 20 }),
    'list, waiting': () => submissionPage(reading, { status: 'waiting' }, { limit: 20 }),
  };
  let kept = 0;
  const first: Record<string, number> = {};
  process.stdout.write(`${name}\n`);
  for (const size of SIZES) {
    await fill(storage, kept, size);
    kept = size;
    const cells: string[] = [];
    for (const [what, run] of Object.entries(measured)) {
      const ms = await median(run);
      first[what] ??= ms;
      cells.push(`${what} ${ms.toFixed(3)} ms (${(ms / first[what]).toFixed(2)})`);
    }
    process.stdout.write(`  ${String(size).padStart(9)}  ${cells.join('  ')}\n`);
  }
  await storage.close();
  await database.remove();
}

/** Submissions as years of use would leave them: a thousand, and copies of them under ids of their own. */
async function fill(storage: Storage, from: number, to: number): Promise<void> {
  if (from === 0) {
    const rows = Array.from({ length: ROWS_PER_INSERT }, (_, at) => rowOf(at));
    await storage.write((tx) => tx.insertInto('submissions').values(rows).execute());
  }
  const { id: _, ...others } = rowOf(OPEN);
  const names = Object.keys(others) as (keyof typeof others)[];
  for (let kept = Math.max(from, ROWS_PER_INSERT); kept < to; kept += ROWS_PER_INSERT) {
    await storage.write((tx) =>
      tx
        .insertInto('submissions')
        .columns(['id', ...names])
        .expression((db) =>
          db
            .selectFrom('submissions')
            .select((row) => [row('id', '||', String(kept)).as('id'), ...names])
            .where('status', '=', 'delivered')
            .limit(ROWS_PER_INSERT),
        )
        .execute(),
    );
  }
}

function rowOf(number: number): SubmissionRow {
  const id = randomUUIDv7();
  const isOpen = number < OPEN;
  const email = `person-${id}@example.com`;
  const fields = { name: 'Ada Lovelace', email, message: 'Could somebody look at the terrace?' };
  return {
    id,
    form: 'contact',
    origin: 'browser',
    email,
    telephone: null,
    subscriber: null,
    subscriber_id: null,
    received_ms: Date.now(),
    event: JSON.stringify({ type: 'lead.created', data: { id, form: 'contact', fields } }),
    disclosures: null,
    fields_digest: id,
    status: isOpen ? 'waiting' : 'delivered',
    status_since_ms: Date.now(),
    reason: null,
    stored_here: 0,
    attempts: '',
    attempt_number: 1,
    attempt_by: 'first',
    resumed_status: null,
    lease_started_ms: null,
    lease_ms: null,
    step: isOpen ? 0 : null,
    // In an hour: what is due is found, and nothing is.
    next_attempt_ms: isOpen ? Date.now() + 3_600_000 : null,
    resend_asked_ms: null,
  };
}
