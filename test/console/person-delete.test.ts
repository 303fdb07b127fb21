/** The page that asks before everything about a person is deleted (reference §12.13), as the operator reads it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testClock } from '../support/clock.ts';
import type { Service } from '../support/service.ts';
import { keepRows, submissionRow } from '../support/submissions.ts';
import { type Operator, signIn, startWithConsole } from './operator.ts';
import { visibleText } from './visible-text.ts';

const clock = testClock('2026-11-20T12:00:00.000Z');
let service: Service;
let operator: Operator;
beforeAll(async () => {
  service = await startWithConsole({ clock });
  operator = await signIn(service);
});
afterAll(() => service.close());

const receipts =
  'Receipts remain stored, because receipts contain nothing that the person typed. Earlier backups still contain the data.';
const files = 'Message files in DATA_DIR also remain. To delete these files too, use npm run erase.';
const forwarded = 'The receiver has its own copy of every forwarded lead. Delete it there as well.';
const end = ['Delete', 'Keep everything'];

/** Stores the rows of a person, and returns the lines of the page after the count of the rows. */
async function linesAfterCounts(who: Operator, { parts }: Service, rows: ReturnType<typeof submissionRow>[]) {
  await keepRows(parts.storage, rows);
  const { text } = await who.get(`/operator/people/${rows[0]?.id}?delete=ask`);
  expect(text).toContain('<title>Delete a person · Paint Match</title>');
  const lines = visibleText(text);
  expect(lines[0]).toBe('Delete everything about this person?');
  return lines.slice(lines.indexOf('To be deleted permanently') + 1);
}

/** Returns the row of a person's departure from the newsletter. */
const unsubscription = (email: string, status: 'waiting' | 'delivered') => ({
  ...submissionRow({ form: 'newsletter', fields: { email }, status }),
  event: JSON.stringify({ type: 'subscriber.unsubscribed', data: { fields: { email } } }),
});

test('names what is deleted and what remains', async () => {
  const fields = { name: 'Ada', email: 'ada@example.com' };
  const rows = [submissionRow({ fields }), submissionRow({ fields }), unsubscription(fields.email, 'delivered')];
  expect(await linesAfterCounts(operator, service, rows)).toEqual([
    ...['2 leads', '1 newsletter submission', receipts, files, ...end],
  ]);
});

test('warns of a lead under way and of an unsubscription that the receiver has not got', async () => {
  const fields = { email: 'bo@example.com' };
  const rows = [submissionRow({ fields, status: 'sending' }), unsubscription(fields.email, 'waiting')];
  expect(await linesAfterCounts(operator, service, rows)).toEqual([
    ...['1 lead', '1 newsletter submission', receipts, files],
    'A lead of this person is being sent now and may still arrive.',
    'The person unsubscribed from the newsletter, but the receiver was not notified yet. Remove the address there.',
    ...end,
  ]);
});

test('names the time of the rewrite of a large database file', async () => {
  const { storage } = service.parts;
  const { scrubLockMs } = storage;
  storage.scrubLockMs = () => 501;
  const fields = { name: 'Cy', email: 'cy@example.com' };
  const lines = await linesAfterCounts(operator, service, [submissionRow({ fields })]);
  storage.scrubLockMs = scrubLockMs;
  expect(lines).toEqual([
    '1 lead',
    expect.stringMatching(/until the service rewrites the file on 21 Nov 2026, 03:00 \(Europe\/Berlin\)\./),
    ...[receipts, files, ...end],
  ]);
});

test('names the receiver’s copies if leads are forwarded', async () => {
  const forwarding = await startWithConsole({ clock, environment: { UPSTREAM_URL: 'http://127.0.0.1:1/' } });
  const lines = await linesAfterCounts(await signIn(forwarding), forwarding, [submissionRow()]);
  await forwarding.close();
  expect(lines).toEqual(['1 lead', receipts, files, forwarded, ...end]);
});
