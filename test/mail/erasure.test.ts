import { mkdtempSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import {
  countOutboxOf,
  eraseOutboxOf,
  messageFilesTo,
  removeFiles,
} from '../../src/mail/erasure.ts';
import { openFilesMailer } from '../../src/mail/files.ts';
import { confirmationMessage } from '../../src/mail/mail.ts';
import { openRows } from '../../src/mail/outbox-rows.ts';
import { testClock } from '../support/clock.ts';
import { databases } from '../support/databases.ts';

const confirmation = confirmationMessage({
  operatorName: 'Paint Match',
  operatorContact: 'ada@example.com',
  baseUrl: 'https://paint.example',
  from: 'Ada <ada@example.com>',
});
const longest = `${'l'.repeat(64)}@${`${'d'.repeat(61)}.`.repeat(3)}example`;
const addresses = [
  'ada@example.com',
  "!#$%&'*+/=?^_`{|}~-@example.com",
  'a.b.c@example.com',
  'ada@xn--bcher-kva.example',
  longest,
];

test('the messages to a mailbox are found whatever its address looks like, and no others', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'messages-'));
  const mailer = openFilesMailer({ folder, confirmation, clock: systemClock });
  const send = (address: string, id: string) =>
    mailer.send({ address, messageId: `<${id}@paint.example>` });
  for (const [index, address] of addresses.entries()) {
    expect(await send(address, `m${index}`)).toEqual({ kind: 'sent' });
  }
  await send('ada+news@example.com', 'plus');
  await send('nada@example.com', 'other');
  writeFileSync(
    join(folder, '.m9.eml.part'),
    'From: x@y.example\r\nTo: <Ada@example.com>\r\n\r\nHe',
  );
  writeFileSync(join(folder, 'notes.txt'), 'To: ada@example.com\n');

  for (const [index, address] of addresses.entries()) {
    if (index === 0) continue;
    expect(await messageFilesTo(folder, address)).toEqual([join(folder, `m${index}.eml`)]);
  }
  const found = await messageFilesTo(folder, 'ada@example.com');
  expect(found.sort()).toEqual(
    ['.m9.eml.part', 'm0.eml', 'plus.eml'].map((each) => join(folder, each)),
  );
  await removeFiles([...found, join(folder, 'gone-already.eml')]);
  expect((await readdir(folder)).sort()).toEqual(
    ['m1.eml', 'm2.eml', 'm3.eml', 'm4.eml', 'notes.txt', 'other.eml'].sort(),
  );
});

test('a folder that is not there holds no message', async () => {
  expect(await messageFilesTo(join(tmpdir(), 'no-such-folder'), 'ada@example.com')).toEqual([]);
});

describe.each(databases)('the rows of a mailbox, on %s', (_name, create) => {
  test.each([
    ['jane+news@example.com', 'jane@example.com'],
    ['jane@example.com', 'jane+news@example.com'],
    ['jane+a+b@example.com', 'jane+c@example.com'],
  ])('%s is counted and erased as %s, and no other', async (subscribed, erased) => {
    const database = await create();
    const clock = testClock();
    const storage = await database.open(clock);
    const parts = { clock, newId: () => crypto.randomUUID(), perMinute: 60, hostname: 'x.example' };
    const rows = openRows(storage, parts);
    const others = ['jane@example.org', 'mary.jane@example.com', 'jan@example.com'];
    for (const address of [subscribed, ...others]) await rows.add(address);

    expect(await countOutboxOf(storage, erased)).toBe(1);
    expect(await storage.write((tx) => eraseOutboxOf(tx, erased))).toBe(1);
    const left = await storage.read((db) => db.selectFrom('outbox').select('address'));
    expect(left.map(({ address }) => address).sort()).toEqual(others.sort());
    await storage.close();
    await database.remove();
  });
});
