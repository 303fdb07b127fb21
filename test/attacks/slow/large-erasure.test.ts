/** The deletion of a person with 60,000 rows of their own leaves the event loop free (reference §19.7). */
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signIn, startWithConsole } from '../../console/operator.ts';
import { call } from '../../support/agent.ts';
import { post } from '../../support/forms.ts';
import type { Service } from '../../support/service.ts';
import { keepRows, submissionRow } from '../../support/submissions.ts';

const ROWS = 60_000;
const NOTICES = 20_000;
/** Maximum of the p99 of a timer's delay, in milliseconds. */
const DELAY_MAXIMUM_MS = 50;

let service: Service;
const eve = (n: number) => submissionRow({ fields: { name: 'Eve', email: `eve${n}@example.com`, message: 'Hello' } });
const people = [eve(0), eve(1), eve(2)];
const other = submissionRow();

beforeAll(async () => {
  // Otherwise the hourly job would empty the rows.
  service = await startWithConsole();
  await keepRows(service.parts.storage, [...people, other]);
  addRows(join(service.folder, 'service.db'));
});
afterAll(() => service.close());

/** Copies the row of each person under other ids and adds notices, in SQLite itself. */
function addRows(path: string): void {
  const database = new DatabaseSync(path);
  database.exec(`create temporary table own as select * from submissions where email like 'eve%'`);
  const columns = database.prepare('select name from pragma_table_info(?)').all('own');
  const names = columns.map(({ name }) => String(name));
  const made: Record<string, string> = {
    id: `printf('%08x-0000-7000-8000-%012x', n * 7919 % 2147483648, n * 10 + substr(own.email, 4, 1))`,
    fields_digest: `'digest ' || n`,
    received_ms: 'own.received_ms + n',
  };
  database.exec(`
    with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${ROWS - 1})
    insert into submissions (${names.join()})
    select ${names.map((name) => made[name] ?? `own.${name}`).join()} from numbers, own`);
  database.exec(`
    insert into messages (kind, key, priority, message_id, status, requested_at, attempts, next_attempt_at)
    select 'notice', id, 2, id, 'dead', '', 1, '' from submissions where email = 'eve0@example.com' limit ${NOTICES}`);
  database.close();
}

test('deletes 60,000 rows and writes the audit entry in one transaction, and answers other requests meanwhile', async () => {
  const operator = await signIn(service);
  let least = Number.POSITIVE_INFINITY;
  let worst = Number.POSITIVE_INFINITY;
  // The least of three runs counts, because other work of the machine adds to each.
  for (const { id } of people) {
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    let hasEnded = false;
    const deleting = operator.press(`/operator/people/${id}`, { do: 'delete' }).finally(() => {
      hasEnded = true;
    });
    const lead = post(service, '/api/leads', 'json', { form: 'contact', ...someone() });
    let answered = 0;
    while (!hasEnded) {
      expect((await call(service, '/healthz', { method: 'GET' })).status).toBe(200);
      expect((await call(service, '/quote', { method: 'GET' })).status).toBe(200);
      // A read of the database sees the state before the commit, or after it.
      const rows = await service.parts.storage.read((db) =>
        db.selectFrom('operator_audit').select('id').where('what', '=', 'deleted_person'),
      );
      if (!hasEnded) answered += 1;
      expect(rows.length).toBeLessThanOrEqual(people.length);
    }
    expect((await deleting).status).toBe(303);
    expect((await lead).status).toBe(200);
    delay.disable();
    expect(answered).toBeGreaterThan(10);
    least = Math.min(least, delay.percentile(99) / 1e6);
    worst = Math.min(worst, delay.max / 1e6);
  }
  process.stdout.write(`delay of a timer: p99 ${least.toFixed(1)} ms, worst ${worst.toFixed(1)} ms\n`);
  expect(least).toBeLessThan(DELAY_MAXIMUM_MS);

  const remaining = await service.parts.storage.read((db) => db.selectFrom('submissions').select(['id', 'email']));
  expect(remaining.map(({ email }) => email).filter((email) => email?.startsWith('eve'))).toEqual([]);
  expect(remaining.map(({ id }) => id)).toContain(other.id);
  expect(await service.parts.storage.read((db) => db.selectFrom('messages').select('key'))).toEqual([]);
  const entries = await service.parts.storage.read((db) =>
    db.selectFrom('operator_audit').select('about').where('what', '=', 'deleted_person').orderBy('at'),
  );
  const counts = entries.map(({ about }) => JSON.parse(about).count);
  expect(counts).toEqual([ROWS + NOTICES, ROWS, ROWS]);
}, 120_000);

let leads = 0;
function someone() {
  leads += 1;
  return { name: 'Ada', email: `lead${leads}@example.com`, subject: 's', message: 'm' };
}
