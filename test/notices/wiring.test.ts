/** Notices and alerts of the running service, with a real mail server. */
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type MailServer, startMailServer } from '../mail/mail-server.ts';
import { testClock } from '../support/clock.ts';
import { type Service, startService } from '../support/service.ts';
import { alertEmail, keep, notifyEmail, submission } from './operator-mail.ts';

const MINUTE = 60_000;
const clock = testClock();
let server: MailServer;
let service: Service;
beforeAll(async () => {
  server = await startMailServer();
  service = await startService({
    clock,
    environment: { SMTP_URL: server.url, NOTIFY_EMAIL: notifyEmail, ALERT_EMAIL: alertEmail },
  });
});
afterAll(async () => {
  await service.close();
  await server.close();
});
beforeEach(() => {
  server.received.splice(0);
});

const arrived = async (count: number) => {
  await expect.poll(() => server.received.length, { timeout: 1_900 }).toBe(count);
  return await Promise.all(server.received.map(({ raw }) => PostalMime.parse(raw)));
};

test('the running service sends a notice within two seconds after the commit that queued it', async () => {
  const { storage, notices } = service.parts;
  const row = submission();
  await keep(storage, row);
  await storage.write(async (tx) => {
    for (const change of notices.of(row)) await tx.change(change);
  });
  const [mail] = await arrived(1);
  expect(mail?.to).toEqual([{ name: '', address: notifyEmail }]);
  expect(mail?.messageId).toMatch(/^<[0-9a-f-]{36}@127\.0\.0\.1>$/);
  expect(service.logs.join('')).not.toMatch(/canary/i);
});

test('the running service sends an alert for a fault, and an all-clear after its end', async () => {
  const { alerts } = service.parts;
  alerts.raise('upstream');
  await alerts.run();
  const [mail] = await arrived(1);
  expect(mail?.subject).toBe('Leads do not reach the receiver');
  clock.advance(MINUTE);
  alerts.resolve('upstream');
  await alerts.run();
  expect((await arrived(2))[1]?.subject).toMatch(/^Resolved: /);
});
