import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../commands/run-service.ts';
import { type MailServer, startMailServer } from '../mail/mail-server.ts';
import { type Service, startService } from '../support/service.ts';
import { confirm, leave, messagesTo, newSubscriber, rowOf } from './rig.ts';

const SUBJECT = 'Bitte bestätigen: Neues von {operator}';
const TEXT = 'Grüß Gott,\n\nhier bestätigen:\n{confirm_url}\n\nhier abbestellen:\n{leave_url}\n';

let server: MailServer;
const services: Service[] = [];

async function serviceWith(environment: Record<string, string>): Promise<Service> {
  const service = await startService({ environment: { SMTP_URL: server.url, ...environment } });
  services.push(service);
  return service;
}

/** Creates a content folder with these newsletter words and returns its path. */
function contentWith(words: object): string {
  const folder = join(temporaryFolder(), 'content');
  mkdirSync(folder);
  writeFileSync(join(folder, 'words.yaml'), JSON.stringify({ lang: 'de', newsletter: words }));
  return folder;
}

async function messageFor(service: Service, email: string) {
  await service.parts.outbox?.work();
  const { raw = '' } = server.received.find(({ to }) => to[0] === email) ?? {};
  return { raw, parsed: await PostalMime.parse(raw) };
}

beforeAll(async () => {
  server = await startMailServer({});
});
afterAll(async () => {
  for (const service of services) await service.close();
  await server.close();
});

test('the confirmation message has the links to confirm and unsubscribe, and two one-line headers of RFC 8058', async () => {
  const service = await serviceWith({});
  const row = await newSubscriber(service);
  const { raw, parsed } = await messageFor(service, row.email);
  const [confirmUrl, leaveUrl] = [
    `${service.url}/newsletter/confirm/${row.confirm_token}`,
    `${service.url}/newsletter/leave/${row.leave_token}`,
  ];
  const header = (key: string) => parsed.headers.filter((each) => each.key === key);
  expect(header('list-unsubscribe').map(({ value }) => value)).toEqual([`<${leaveUrl}>`]);
  expect(header('list-unsubscribe-post').map(({ value }) => value)).toEqual(['List-Unsubscribe=One-Click']);
  expect(raw).toContain(`\r\nList-Unsubscribe: <${leaveUrl}>\r\n`);
  expect(raw).toContain('\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n');
  const lines = parsed.text?.split('\n') ?? [];
  expect(lines).toContain(confirmUrl);
  expect(lines).toContain(leaveUrl);
  expect(parsed.text).toMatch(/we delete the address after 7\s+days/);
  expect(parsed.subject).toBe('Please confirm your subscription to updates from Paint Match');
});

test('uses the words and the language of CONTENT_DIR in the message and on the pages', async () => {
  const words = { message: { subject: SUBJECT, text: TEXT }, leave: { title: 'Abbestellen?' } };
  const service = await serviceWith({ CONTENT_DIR: contentWith(words) });
  const row = await newSubscriber(service);
  const { parsed } = await messageFor(service, row.email);
  expect(parsed.subject).toBe('Bitte bestätigen: Neues von Paint Match');
  expect(parsed.text).toContain(`bestätigen:\n${service.url}/newsletter/confirm/${row.confirm_token}`);
  const page = await fetch(`${service.url}/newsletter/leave/x`);
  expect(await page.text()).toMatch(/<html lang="de">[\s\S]*<h1>Abbestellen\?<\/h1>/);
});

test('the service does not start if the operator’s message text has no {leave_url}', async () => {
  const text = TEXT.replace('{leave_url}', '');
  const content = contentWith({ message: { subject: SUBJECT, text } });
  await expect(startService({ environment: { CONTENT_DIR: content } })).rejects.toThrow(/words\.yaml.*\{leave_url\}/);
});

test.each([
  ['has confirmed', confirm],
  ['has unsubscribed', leave],
])('removes the waiting confirmation message to a subscriber who %s', async (_what, press) => {
  // No server listens at this port, so the message waits.
  const service = await serviceWith({ SMTP_URL: 'smtp://127.0.0.1:1' });
  const row = await newSubscriber(service);
  expect(await messagesTo(service, row.email)).toBe(1);
  await press(service, row);
  await service.parts.outbox?.work();
  expect(await messagesTo(service, row.email)).toBe(0);
  expect(await rowOf(service, row.email)).toBeDefined();
});
