import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import PostalMime from 'postal-mime';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openFilesMailer } from '../../src/mail/files.ts';
import { parseSender } from '../../src/settings/sender.ts';
import { testClock } from '../support/clock.ts';
import { confirmation, from } from './mail-server.ts';

let parent: string;
let folder: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'mail-'));
  folder = join(parent, 'mail');
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

const uuid = '1b671a64-40d5-491e-99b0-da01ff1f3341';
const message = {
  ...confirmation,
  address: 'jane@subscriber.example',
  messageId: `<${uuid}@paint.example>`,
};
const open = (sender = from) => openFilesMailer({ folder, from: sender, clock: testClock() });

test('a message is one .eml that nobody else can read, under a name that tells no address', async () => {
  // A worker thread has no umask of its own.
  const before = isMainThread ? process.umask(0) : undefined;
  try {
    expect(await open().send(message)).toEqual({ kind: 'sent' });
  } finally {
    if (before !== undefined) process.umask(before);
  }
  expect(readdirSync(folder)).toEqual([`${uuid}.eml`]);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder, `${uuid}.eml`)).mode & 0o777).toBe(0o600);
});

test('a folder that others could read is closed to them', async () => {
  await open().send(message);
  chmodSync(folder, 0o755);
  await open().send({ ...message, messageId: '<two@paint.example>' });
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

test('it is the message that a mail server gets, with CRLF line ends', async () => {
  await open().send(message);
  const raw = readFileSync(join(folder, `${uuid}.eml`), 'utf8');
  expect(raw.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  const parsed = await PostalMime.parse(raw);
  expect(parsed.to).toEqual([{ name: '', address: message.address }]);
  expect(parsed.messageId).toBe(message.messageId);
  expect(parsed.subject).toBe(confirmation.subject);
  expect(parsed.text?.trim()).toBe(confirmation.text.trim());
  expect(parsed.text).not.toContain('jane');
});

test('a message that is sent again replaces itself, what a crash left included', async () => {
  const mailer = open();
  await mailer.send(message);
  writeFileSync(join(folder, `.${uuid}.eml.part`), 'half a mess', { mode: 0o644 });
  expect(await mailer.send(message)).toEqual({ kind: 'sent' });
  expect(readdirSync(folder)).toEqual([`${uuid}.eml`]);
  expect(statSync(join(folder, `${uuid}.eml`)).mode & 0o777).toBe(0o600);
});

test('a message that is written is no longer open', async () => {
  await open().send(message);
  const targets = readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)];
    } catch {
      return [];
    }
  });
  expect(targets.filter((target) => target.startsWith(parent))).toEqual([]);
});

test('a folder that can not be made is a temporary refusal', async () => {
  writeFileSync(folder, 'a file');
  const result = await open().send(message);
  expect(result).toEqual({ kind: 'refused', permanent: false, reason: 'EEXIST' });
});

test('two addresses in one are refused for good', async () => {
  const result = await open().send({ ...message, address: 'a@x.com,b@y.com' });
  expect(result).toMatchObject({ kind: 'refused', permanent: true });
});

test('words in any script stay whole', async () => {
  const used = { subject: 'Bitte bestätigen: Malerei Grün', text: 'Grüß Gott — 你好\n' };
  await open(parseSender('hallo@gruen.example')).send({ ...message, ...used });
  const parsed = await PostalMime.parse(readFileSync(join(folder, `${uuid}.eml`)));
  expect(parsed.subject).toBe(used.subject);
  expect(parsed.from).toEqual({ name: '', address: 'hallo@gruen.example' });
  expect(parsed.text).toBe(used.text);
});
