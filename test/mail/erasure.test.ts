import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { countOutboxOf, eraseNoticesOf, eraseOutboxOf, messageFilesTo, removeFiles } from '../../src/mail/erasure.ts';
import { openFilesMailer } from '../../src/mail/files.ts';
import { prepareMessage } from '../../src/mail/messages.ts';
import { openOutboxRows } from '../../src/mail/outbox-rows.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { parseSender } from '../../src/settings/groups.ts';
import { testClock } from '../support/clock.ts';
import { databases } from '../support/databases.ts';

/** The text contains another address, which must not count. */
const confirmation = { subject: 'Hello', text: 'Write to ada@example.com.' };
const from = parseSender('Ada <ada@example.com>');
const longest = `${'l'.repeat(64)}@${`${'d'.repeat(61)}.`.repeat(3)}example`;
const addresses = [
  'ada@example.com',
  "!#$%&'*+/=?^_`{|}~-@example.com",
  'a.b.c@example.com',
  'ada@xn--bcher-kva.example',
  longest,
];

test('messageFilesTo finds only messages to the mailbox, also with a plus-tag or in a partly written file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'messages-'));
  const mailer = openFilesMailer({
    folder,
    from,
    clock: systemClock,
  });
  const send = (address: string, id: string) =>
    mailer.send({ ...confirmation, address, messageId: `<${id}@paint.example>` });
  for (const [index, address] of addresses.entries()) {
    expect(await send(address, `m${index}`)).toEqual({ kind: 'sent' });
  }
  await send('ada+news@example.com', 'plus');
  await send('nada@example.com', 'other');
  writeFileSync(join(folder, '.m9.eml.part'), 'From: x@y.example\r\nTo: <Ada@example.com>\r\n\r\nHe');
  writeFileSync(join(folder, 'notes.txt'), 'To: ada@example.com\n');

  for (const [index, address] of addresses.entries()) {
    if (index === 0) continue;
    expect(await messageFilesTo(folder, address)).toEqual([join(folder, `m${index}.eml`)]);
  }
  const found = await messageFilesTo(folder, 'ada@example.com');
  expect(found.sort()).toEqual(['.m9.eml.part', 'm0.eml', 'plus.eml'].map((each) => join(folder, each)));
  await removeFiles([...found, join(folder, 'gone-already.eml')]);
  expect((await readdir(folder)).sort()).toEqual(
    ['m1.eml', 'm2.eml', 'm3.eml', 'm4.eml', 'notes.txt', 'other.eml'].sort(),
  );
});

test('messageFilesTo finds a notice about a person by its Reply-To header', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'messages-'));
  const mailer = openFilesMailer({ folder, from, clock: systemClock });
  const notice = { subject: 'New', text: 'New', address: 'leads@paint.example' };
  for (const [index, replyTo] of [...addresses, 'nada@example.com'].entries()) {
    await mailer.send({ ...notice, replyTo, messageId: `<n${index}@paint.example>` });
  }
  await mailer.send({ ...notice, messageId: '<summary@paint.example>' });
  for (const [index, address] of addresses.entries()) {
    expect(await messageFilesTo(folder, address)).toEqual([join(folder, `n${index}.eml`)]);
  }
});

test.each([
  ['a bare address', 'To: ada@example.com\r\n\r\n', true],
  ['an address without a space before it', 'to:ada@example.com\r\n\r\n', true],
  ['an address with a name and a plus-tag', 'To: Ada Lovelace <ada+news@example.com>\r\n\r\n', true],
  ['one of several lines', 'From: x@y.example\r\nREPLY-TO: <Ada@Example.com>\r\n\r\nHi', true],
  ['a folded line', 'To: Ada Lovelace\r\n <ada@example.com>\r\n\r\n', true],
  ['a line folded right after its name', 'To:\r\n\t\tada@example.com\r\n\r\n', true],
  ['line ends of Unix', 'From: x@y.example\nTo:\n ada@example.com\nDate: now\n\nHi', true],
  ['a file that ends within the header', 'To: ada@example.com', true],
  ['a header whose name ends with Reply-To', 'In-Reply-To: <ada@example.com>\r\n\r\n', false],
  ['the sender', 'From: <ada@example.com>\r\n\r\n', false],
  ['a folded line of another header', 'Subject: x\r\n To: ada@example.com\r\n\r\n', false],
  ['the text', 'To: x@y.example\r\n\r\nTo: ada@example.com\r\n', false],
  ['the text, with line ends of Unix', 'To: x@y.example\n\nTo: ada@example.com\n', false],
  ['the display name of another address', 'To: ada@example.com <x@y.example>\r\n\r\n', false],
  ['an empty file', '', false],
])('messageFilesTo searches only the To and Reply-To headers for the address: %s', async (_name, text, found) => {
  const folder = mkdtempSync(join(tmpdir(), 'messages-'));
  writeFileSync(join(folder, 'm.eml'), text);
  expect(await messageFilesTo(folder, 'ada@example.com')).toHaveLength(found ? 1 : 0);
});

test('messageFilesTo ignores files whose names are not those of messages', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'messages-'));
  for (const name of ['m.eml.bak', 'm.eml.part.bak', 'm-eml', 'm.part']) {
    writeFileSync(join(folder, name), 'To: ada@example.com\r\n\r\n');
  }
  expect(await messageFilesTo(folder, 'ada@example.com')).toEqual([]);
});

test('messageFilesTo skips a deleted message, and throws for an unreadable message', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'messages-'));
  symlinkSync(join(folder, 'gone'), join(folder, 'gone.eml'));
  expect(await messageFilesTo(folder, 'ada@example.com')).toEqual([]);
  mkdirSync(join(folder, 'folder.eml'));
  await expect(messageFilesTo(folder, 'ada@example.com')).rejects.toThrow('EISDIR');
  await expect(messageFilesTo(join(folder, 'gone.eml', 'x'), 'a@b.example')).resolves.toEqual([]);
  writeFileSync(join(folder, 'file'), '');
  await expect(messageFilesTo(join(folder, 'file'), 'a@b.example')).rejects.toThrow('ENOTDIR');
});

test('messageFilesTo returns no files for a missing folder', async () => {
  expect(await messageFilesTo(join(tmpdir(), 'no-such-folder'), 'ada@example.com')).toEqual([]);
});

describe.each(databases)('rows of a mailbox, on %s', (_name, create) => {
  test('erases only messages of the given kind, even if another kind has the same key', async () => {
    const database = await create();
    const storage = await database.open(testClock());
    const add = prepareMessage(storage);
    const more = { about: null, status: 'pending' as const, now: '2026-09-01T12:00:00.000Z' };
    for (const kind of ['confirmation', 'notice', 'notice_summary'] as const) {
      for (const key of ['jane@example.com', 's-2']) {
        await storage.write(add({ ...more, kind, key, message_id: `<${kind}-${key}>` }));
      }
    }
    expect(await storage.write((tx) => eraseNoticesOf(tx, []))).toBe(0);
    expect(await storage.write((tx) => eraseNoticesOf(tx, ['s-2', 'no-such']))).toBe(1);
    expect(await countOutboxOf(storage, 'jane@example.com')).toBe(1);
    expect(await storage.write((tx) => eraseOutboxOf(tx, 'jane@example.com'))).toBe(1);
    const left = await storage.read((db) =>
      db.selectFrom('messages').select(['kind', 'key']).orderBy('kind').orderBy('key'),
    );
    expect(left.map(({ kind, key }) => `${kind} ${key}`)).toEqual([
      'confirmation s-2',
      'notice jane@example.com',
      'notice_summary jane@example.com',
      'notice_summary s-2',
    ]);
    await storage.close();
    await database.remove();
  });

  test.each([
    ['jane+news@example.com', 'jane@example.com'],
    ['jane@example.com', 'jane+news@example.com'],
    ['jane+a+b@example.com', 'jane+c@example.com'],
  ])('counts and erases the message to %s, and no other message, for the address %s', async (subscribed, erased) => {
    const database = await create();
    const clock = testClock();
    const storage = await database.open(clock);
    const parts = { clock, newId: () => crypto.randomUUID(), perMinute: 60, hostname: 'x.example' };
    const rows = openOutboxRows(storage, parts);
    const others = ['jane@example.org', 'mary.jane@example.com', 'jan@example.com'];
    for (const address of [subscribed, ...others]) await storage.write(rows.messageTo(address));

    expect(await countOutboxOf(storage, erased)).toBe(1);
    expect(await storage.write((tx) => eraseOutboxOf(tx, erased))).toBe(1);
    const left = await storage.read((db) => db.selectFrom('messages').select('address'));
    expect(left.map(({ address }) => address).sort()).toEqual(others.sort());
    await storage.close();
    await database.remove();
  });
});

test.each(databases)(
  'eraseNoticesOf erases the notices of a person with 100,000 submissions, on %s',
  async (_name, create) => {
    const clock = testClock();
    const database = await create();
    const storage = await database.open(clock);
    const ids = Array.from({ length: 100_000 }, (_, number) => `id-${number}`);
    const rows = [0, 999, 1_000, 99_999].map((number) => ({
      kind: 'notice' as const,
      key: `id-${number}`,
      address: null,
      about: null,
      priority: 2 as const,
      message_id: `<${number}@x.example>`,
      status: 'pending' as const,
      requested_at: clock.now().toISOString(),
      attempts: 0,
      next_attempt_at: clock.now().toISOString(),
      last_attempt_at: null,
      attempt_started_ms: null,
    }));
    await storage.write((tx) => tx.insertInto('messages').values(rows).execute());
    expect(await storage.write((tx) => eraseNoticesOf(tx, ids))).toBe(rows.length);
    await storage.close();
    await database.remove();
  },
);
