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
import { parseSender } from '../../src/settings/groups.ts';
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

test('writes a message to one .eml file with mode 600, whose name contains no address', async () => {
  // A worker thread can't set the umask.
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

test('sets the mode of the folder to 700 if others can read it', async () => {
  await open().send(message);
  chmodSync(folder, 0o755);
  await open().send({ ...message, messageId: '<two@paint.example>' });
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

test('writes the message with the same headers and text as over SMTP, with CRLF line ends', async () => {
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

test('replaces the file if a message is sent again, and the partial file that a crash left', async () => {
  const mailer = open();
  await mailer.send(message);
  writeFileSync(join(folder, `.${uuid}.eml.part`), 'half a mess', { mode: 0o644 });
  expect(await mailer.send(message)).toEqual({ kind: 'sent' });
  expect(readdirSync(folder)).toEqual([`${uuid}.eml`]);
  expect(statSync(join(folder, `${uuid}.eml`)).mode & 0o777).toBe(0o600);
});

test('closes the file and the folder after writing a message', async () => {
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

test('returns a temporary refusal if the folder can’t be created', async () => {
  writeFileSync(folder, 'a file');
  const result = await open().send(message);
  expect(result).toEqual({ kind: 'refused', permanent: false, reason: 'EEXIST' });
});

test('refuses a recipient that contains two addresses permanently', async () => {
  const result = await open().send({ ...message, address: 'a@x.com,b@y.com' });
  expect(result).toMatchObject({ kind: 'refused', permanent: true });
});

test('preserves text in any script', async () => {
  const used = { subject: 'Bitte bestätigen: Malerei Grün', text: 'Grüß Gott — 你好\n' };
  await open(parseSender('hallo@gruen.example')).send({ ...message, ...used });
  const parsed = await PostalMime.parse(readFileSync(join(folder, `${uuid}.eml`)));
  expect(parsed.subject).toBe(used.subject);
  expect(parsed.from).toEqual({ name: '', address: 'hallo@gruen.example' });
  expect(parsed.text).toBe(used.text);
});
