/**
 * Deleted data is gone from the raw files (ASVS 14.2.7). That `npm run erase` leaves nothing in the database, its log and the
 * message files is tested in test/commands/erase.test.ts.
 */
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openSandboxRetention } from '../../src/sandbox/retention.ts';
import { runService, temporaryFolder } from '../commands/run-service.ts';
import { askToConfirm } from '../confirmations/rig.ts';
import { executeAction, previewAction, previewId } from '../support/agent.ts';
import { type TestClock, testClock } from '../support/clock.ts';
import { post } from '../support/forms.ts';
import { getReceipt, newKey } from '../support/receipts.ts';
import { type Service, startService, tokens } from '../support/service.ts';

const DAY_MS = 24 * 3_600_000;
const ada = { name: 'Ada Canarylace', email: 'ada.canary@example.com' };
const message = { subject: 'Canarysubject', message: `Canarymessage ${'x'.repeat(1_500)}` };

let clock: TestClock;
let service: Service;
let folder: string;
beforeEach(async () => {
  clock = testClock();
  folder = temporaryFolder();
  service = await startService({ clock, folder, environment: { RECEIPT_SIGNING_KEYS: newKey() } });
});
afterEach(() => service.close());

/**
 * Returns every byte of the database, its log and the files beside them. Another process reads them, because a process that
 * closes one loses SQLite's locks on it, and the next process would truncate its memory.
 */
function rawFiles(pattern = 'service.db*'): string {
  const paths = globSync(join(folder, pattern));
  expect(paths.length).toBeGreaterThan(0);
  return execFileSync('cat', paths, { encoding: 'latin1', maxBuffer: 64 * 1024 * 1024 });
}

async function fill(person: { name: string; email: string }): Promise<void> {
  for (let n = 0; n < 5; n += 1) {
    await post(service, '/api/leads', 'json', { form: 'contact', ...person, ...message });
  }
  const email = person.email.replace('@', `+${person.name.slice(0, 3).toLowerCase()}@`);
  await post(service, '/api/subscribe', 'json', { email, privacy: 'on' });
}

/** Executes and requests a confirmation as a sandbox client, and signs the receipt, whose disclosures have the fields. */
async function sandboxTest(person: { name: string; email: string }): Promise<void> {
  const { sandbox: token } = tokens;
  const previewOf = async () =>
    (await previewAction(service, 'contact', { ...person, ...message }, { token })).body.preview_id as string;
  const { body } = await executeAction(service, await previewOf(), { action: 'contact', token });
  expect((await getReceipt(service, body.receipt.action_id, token)).body.disclosures).not.toEqual([]);
  expect((await askToConfirm(service, await previewOf(), { token })).status).toBe(201);
}

const erase = (email: string) => runService(['erase', email, '--yes'], { environment: { DATA_DIR: folder } });

describe('erased data in raw files', () => {
  test('is absent from a backup that was made after the erasure', async () => {
    await fill(ada);
    await fill({ name: 'Eve', email: 'eve@example.com' });
    expect(rawFiles()).toContain('Canarylace');
    expect((await erase(ada.email)).status).toBe(0);
    expect((await erase('ada.canary+ada@example.com')).status).toBe(0);
    const backup = join(folder, 'copy.backup');
    const made = await runService(['backup', backup], { environment: { DATA_DIR: folder } });
    expect(made.status).toBe(0);
    for (const text of [rawFiles(), rawFiles('copy.backup')]) {
      expect(text).toContain('eve@example.com');
      expect(text.replaceAll('Canarysubject', '')).not.toMatch(/ada\.canary|Canarylace/i);
    }
  });

  test('data that is not in the backup is absent after a restore', async () => {
    await fill({ name: 'Eve', email: 'eve@example.com' });
    const backup = join(folder, 'early.backup');
    await runService(['backup', backup], { environment: { DATA_DIR: folder } });
    await fill(ada);
    await service.close();
    const environment = { DATA_DIR: folder };
    expect((await runService(['restore', backup, '--yes'], { environment })).status).toBe(0);
    expect(rawFiles()).toContain('eve@example.com');
    expect(rawFiles()).not.toMatch(/ada\.canary|Canarylace/i);
    service = await startService({ clock, folder });
  });

  test('is overwritten in the file when its row is deleted (secure_delete)', async () => {
    await fill(ada);
    await service.close();
    // No VACUUM runs here, so that only secure_delete has an effect.
    const database = new DatabaseSync(join(folder, 'service.db'));
    database.close();
    service = await startService({ clock, folder });
    await service.parts.storage.write(async (tx) => {
      await tx.deleteFrom('submissions').execute();
      await tx.deleteFrom('subscribers').execute();
      await tx.deleteFrom('messages').execute();
    });
    await service.close();
    expect(rawFiles()).not.toMatch(/ada\.canary|Canarylace|Canarymessage/i);
    service = await startService({ clock, folder });
  });

  test('includes the address of a sent message, which is absent once its row is deleted after a day', async () => {
    await fill(ada);
    const outbox = service.parts.outbox ?? expect.fail();
    await outbox.work();
    const { storage } = service.parts;
    await storage.write(async (tx) => {
      await tx.updateTable('messages').set({ status: 'sent' }).execute();
      await tx.deleteFrom('submissions').execute();
      await tx.deleteFrom('subscribers').execute();
    });
    clock.advance(2 * DAY_MS);
    await outbox.work();
    expect(await storage.read((db) => db.selectFrom('messages').selectAll())).toEqual([]);
    await service.close();
    expect(rawFiles()).not.toMatch(/ada\.canary/i);
    service = await startService({ clock, folder });
  });

  test('of tests of sandbox clients is absent, in disclosures and pending confirmations too', async () => {
    await sandboxTest(ada);
    await sandboxTest({ name: 'Eve', email: 'eve@example.com' });
    expect(rawFiles()).toContain('Canarylace');
    expect((await erase(ada.email)).status).toBe(0);
    expect(rawFiles()).toContain('eve@example.com');
    expect(rawFiles().replaceAll('Canarysubject', '')).not.toMatch(/ada\.canary|Canarylace/i);
    const { storage } = service.parts;
    const rows = await storage.read((db) => db.selectFrom('sandbox_contents').select('email'));
    expect(rows).toEqual([{ email: 'eve@example.com' }]);
    expect(await storage.read((db) => db.selectFrom('executions').select('action_id'))).toHaveLength(4);
  });

  test('of tests of sandbox clients that the service deleted after a day is absent', async () => {
    await sandboxTest(ada);
    const { storage, log } = service.parts;
    const contents = () => storage.read((db) => db.selectFrom('sandbox_contents').select('id'));
    expect(await contents()).toHaveLength(1);
    // The pending confirmation expires within an hour, so that the sweep after a day deletes it too.
    clock.advance(DAY_MS + 1);
    await service.parts.sandbox.pending.expire();
    await storage.write((tx) => tx.updateTable('executions').set({ lease_started_ms: 0 }).execute());
    await openSandboxRetention({ storage, clock, log }).work();
    expect(await contents()).toEqual([]);
    await service.close();
    expect(rawFiles()).not.toMatch(/ada\.canary|Canarylace|Canarymessage/i);
    service = await startService({ clock, folder });
  });

  test('a receipt never contains it, and tokens are stored only as digests', async () => {
    const preview = await previewId(service, 'contact', { ...ada, ...message });
    const executed = await executeAction(service, preview, { action: 'contact' });
    expect(executed.status).toBe(200);
    const rows = await service.parts.storage.read((db) => db.selectFrom('executions').selectAll());
    expect(JSON.stringify(rows)).not.toMatch(/canary/i);
    expect(rawFiles()).not.toContain(preview.slice(0, 40));
    expect(rawFiles()).not.toContain('test-token');
  });
});
