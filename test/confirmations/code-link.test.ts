/** The link in the message with a code, whose secret is stored encrypted until then (reference §6.12, §6.13). */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openSecret } from '../../src/confirmations/tokens.ts';
import { type MailServer, startMailServer } from '../mail/mail-server.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { type Service, startService } from '../support/service.ts';
import { openPage, pending, pressButton } from './rig.ts';

const keys = ['one', 'two'].map((name) => Buffer.alloc(32, name));
const [old, recent] = keys.map((key) => key.toString('base64')) as [string, string];
const clock = testClock();

let mail: MailServer;
let refusal: { code: number; text: string } | undefined;
beforeAll(async () => {
  mail = await startMailServer({ recipient: () => refusal });
});
afterAll(() => mail.close());

describe.each(databases)('link in the message with a code on %s', (name, create) => {
  let database: TestDatabase;
  let folder: string;
  let service: Service;
  beforeEach(async () => {
    refusal = undefined;
    database = await create();
    folder = mkdtempSync(join(tmpdir(), 'code-link-'));
    service = await startWith(old);
  });
  afterEach(async () => {
    await service.close();
    await database.remove();
    rmSync(folder, { recursive: true });
  });

  const startWith = (...signing: string[]) =>
    startService({
      clock,
      folder,
      environment: { DATABASE_URL: database.url, SMTP_URL: mail.url, PREVIEW_SIGNING_KEYS: signing.join(',') },
    });
  /** Returns a confirmation whose code was requested. */
  const asked = async () => {
    const { path } = await pending(service, { via: 'page_email' });
    await pressButton(service, path, 'code');
    return { path, secret: path.slice('/confirm/'.length) };
  };
  /** Attempts every message now, and returns the row of the code. */
  const attempt = async () => {
    const { storage, outbox } = service.parts;
    await storage.write(async (tx) => {
      await tx
        .updateTable('messages')
        .set({ next_attempt_at: clock.now().toISOString(), attempt_started_ms: null })
        .where('status', '=', 'pending')
        .execute();
    });
    await outbox?.work();
    return await rowOfCode();
  };
  const rowOfCode = async () => {
    const rows = await service.parts.storage.read((db) => db.selectFrom('messages').selectAll());
    return rows.find(({ kind }) => kind === 'code') ?? expect.fail();
  };
  const lastMail = () => mail.received.at(-1)?.raw ?? '';

  test('leads to the page, on which a person who did not ask can report', async () => {
    const { path } = await asked();
    await attempt();
    expect(lastMail()).toContain(`\r\n${service.url}${path}\r\n`);
    expect((await pressButton(service, path, 'report')).status).toBe(303);
    expect((await openPage(service, path)).text).toContain('Not sent, and reported');
  });

  test('is encrypted in the row until the message is sent, and only the key reveals it', async () => {
    refusal = { code: 450, text: '4.2.1 later' };
    const { secret } = await asked();
    const waiting = await attempt();
    expect([waiting.status, waiting.attempts > 0]).toEqual(['pending', true]);
    expect(JSON.stringify(waiting)).not.toContain(secret);
    const sealed = waiting.sealed_secret ?? '';
    expect(openSecret(keys, waiting.key, sealed)).toBe(secret);
    expect(openSecret(keys.slice(1), waiting.key, sealed)).toBeUndefined();
    expect(openSecret(keys, `${waiting.key}1`, sealed)).toBeUndefined();
    expect(openSecret(keys, waiting.key, sealed.slice(4))).toBeUndefined();
    expect(openSecret(keys, waiting.key, '')).toBeUndefined();

    refusal = undefined;
    expect(await attempt()).toMatchObject({ status: 'sent', sealed_secret: null });
    expect(lastMail()).toContain(secret);
    expect(service.logs.join('')).not.toContain(secret);
    if (name !== 'SQLite') return;
    await service.close();
    const places = [folder, database.url.replace('sqlite:', '')];
    const found = spawnSync('grep', ['-rlF', '-e', secret, '-e', sealed, ...places], { encoding: 'utf8' });
    // The status 1 means that no file matches.
    expect([found.status, found.stdout]).toEqual([1, '']);
    service = await startWith(old);
  });

  test('is absent from the row of a message that failed permanently', async () => {
    refusal = { code: 550, text: '5.1.1 No such user' };
    await asked();
    expect(await attempt()).toMatchObject({ status: 'dead', sealed_secret: null });
  });

  test.each([
    ['is sent while the key is still valid', [recent, old], true],
    ['is left out if the key was removed before', [recent], false],
  ] as const)('%s', async (_name, signing, isSent) => {
    refusal = { code: 450, text: '4.2.1 later' };
    const { path } = await asked();
    await attempt();
    await service.close();
    service = await startWith(...signing);
    refusal = undefined;
    expect(await attempt()).toMatchObject({ status: 'sent', sealed_secret: null });
    expect(lastMail()).toContain(`\r\n${service.url}${isSent ? path : ''}\r\n`);
    expect(lastMail()).toMatch(/\d{6} is your code/);
  });
});
