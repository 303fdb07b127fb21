/** Counts of the console end at 10,000 (reference §12.7), so that no page counts a whole table. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Storage } from '../../src/storage/database.ts';
import { testClock } from '../support/clock.ts';
import type { Service } from '../support/service.ts';
import { keepRows, submissionRow } from '../support/submissions.ts';
import { type Operator, signIn, startWithConsole } from './operator.ts';

const LIMIT = 10_000;

let service: Service;
let operator: Operator;
beforeAll(async () => {
  service = await startWithConsole({ clock: testClock(), environment: { REDELIVERY: 'off' } });
  const { storage } = service.parts;
  const row = submissionRow({ status: 'undelivered', reason: 'rejected' });
  await keepRows(
    storage,
    Array.from({ length: LIMIT }, (_, n) => ({ ...row, id: idOf(n), fields_digest: `digest ${n}` })),
  );
  await addNumbered(storage, 1, LIMIT);
  operator = await signIn(service);
});
afterAll(() => service.close());

/** Adds subscribers and failed messages, each with a number in its key. */
async function addNumbered(storage: Storage, from: number, to: number): Promise<void> {
  const at = sql`'2026-09-01T12:00:00.000Z'`;
  const numbers = sql`with recursive n(n) as (select ${from} union all select n + 1 from n where n < ${to})`;
  await storage.write(async (tx) => {
    await sql`insert into subscribers (id, email, contractor, status, made_by, confirm_token, leave_token, created_at,
      consent_recorded_at) ${numbers} select n, n || '@x.co', 'direct', 'pending', 'anybody', 'c' || n, 'l' || n,
      ${at}, ${at} from n`.execute(tx);
    await sql`insert into messages (kind, key, priority, message_id, status, requested_at, attempts, next_attempt_at)
      ${numbers} select 'notice', n, 2, 'm' || n, 'dead', ${at}, 7, ${at} from n`.execute(tx);
  });
}

const idOf = (n: number) => `0190a000-0000-7000-8000-${String(n).padStart(12, '0')}`;

/** Returns which of the texts the page has. */
const textsOf = async (path: string, texts: readonly string[]) => {
  const { text } = await operator.get(path);
  return texts.filter((each) => text.includes(each));
};

const exact: [path: string, texts: string[]][] = [
  ['/operator', ['10,000 new leads', '10,000 leads did not arrive', '>10,000 messages could not be sent']],
  ['/operator/leads', ['>10,000 leads<', 'New <span>10,000<', 'Undelivered <span>10,000<']],
  ['/operator/subscribers', ['10,000 subscribers: 0 confirmed, 10,000 pending, 0 unsubscribed']],
  ['/operator/messages', ['>10,000 failed permanently, 0 waiting']],
];

test.each(exact)('%s shows a count of exactly 10,000 rows', async (path, texts) => {
  expect(await textsOf(path, texts)).toEqual(texts);
});

const more: [path: string, texts: string[]][] = [
  ['/operator', ['More than 10,000 new leads', 'More than 10,000 leads did not arrive']],
  ['/operator/leads', ['>More than 10,000 leads<', 'New <span>10,000+<', 'Undelivered <span>10,000+<']],
  ['/operator/subscribers', ['10,000+ subscribers: 0 confirmed, 10,000+ pending, 0 unsubscribed']],
  ['/operator/messages', ['>more than 10,000 failed permanently, 0 waiting']],
];

test('the page that deletes a person counts exactly 10,000 leads', async () => {
  const { text } = await operator.get(`/operator/people/${idOf(1)}?delete=ask`);
  expect(text).toContain('10,000 leads');
  expect(text).not.toContain('more than');
});

test('each page shows that there are more than 10,000 rows', async () => {
  const { storage } = service.parts;
  await keepRows(storage, [submissionRow({ status: 'undelivered', reason: 'rejected' })]);
  await addNumbered(storage, LIMIT + 1, LIMIT + 1);
  for (const [path, texts] of more) expect(await textsOf(path, texts)).toEqual(texts);
  const { text } = await operator.get(`/operator/people/${idOf(1)}?delete=ask`);
  expect(text).toContain('more than 10,000 leads and subscriptions');
});
