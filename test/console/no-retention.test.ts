/** A service that stores no content of leads whose delivery has ended: SUBMISSION_RETENTION_DAYS is 0. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testClock } from '../support/clock.ts';
import type { Service } from '../support/service.ts';
import { allRows, keepRows, submissionRow } from '../support/submissions.ts';
import { type Operator, signIn, startWithConsole } from './operator.ts';

let service: Service;
let operator: Operator;
beforeAll(async () => {
  const environment = { REDELIVERY: 'off', SUBMISSION_RETENTION_DAYS: '0', UPSTREAM_URL: 'http://127.0.0.1:1/' };
  service = await startWithConsole({ clock: testClock(), environment });
  operator = await signIn(service);
});
afterAll(() => service.close());

test.each<[string, string, Record<string, string>, string]>([
  ['dismisses a lead', '', { do: 'dismiss', reason: 'answered' }, 'answered'],
  ['marks a lead as spam', '', { do: 'spam' }, 'spam'],
  ['sets the progress of a lead to spam', '/progress', { progress: 'spam' }, 'spam'],
])('a click that %s deletes its content at once', async (_what, action, form, reason) => {
  const row = submissionRow({ status: 'undelivered', reason: 'rejected' });
  await keepRows(service.parts.storage, [row]);
  const path = `/operator/leads/${row.id}`;
  const { status, headers } = await operator.press(path + action, form);
  // Without the page of the form, the click leads back to the lead or to the first page.
  expect([status, headers.get('location')]).toEqual([303, action === '' ? path : '/operator']);
  const [stored] = (await allRows(service.parts.storage)).filter(({ id }) => id === row.id);
  expect(stored).toMatchObject({ status: 'dismissed', reason, email: null });
  expect(stored?.event).not.toContain('ada@example.com');
});
