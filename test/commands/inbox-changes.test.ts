import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import type { Storage } from '../../src/storage/database.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import type { AttemptOutcome } from '../../src/submissions/attempts.ts';
import { attemptLine, keepRows, submissionRow } from '../support/submissions.ts';
import { runService, temporaryFolder } from './run-service.ts';

let dataDir: string;
let storage: Storage;
const inbox = (args: string[], environment: Record<string, string> = {}) =>
  runService(['inbox', ...args], { environment: { DATA_DIR: dataDir, ...environment } });

beforeAll(async () => {
  dataDir = join(temporaryFolder(), 'data');
  mkdirSync(dataDir, { recursive: true });
  storage = await openSqlite(join(dataDir, 'service.db'), systemClock);
});
afterAll(() => storage.close());

async function keep(given: Parameters<typeof submissionRow>[0]): Promise<string> {
  const row = submissionRow(given);
  await keepRows(storage, [row]);
  return row.id;
}
const rowOf = async (id: string) => {
  const [row] = await storage.read((db) => db.selectFrom('submissions').selectAll().where('id', '=', id));
  return row ?? expect.fail('the row is gone');
};

/** Attempts marked submissions, as a running service does, until all given outcomes are stored. */
async function attemptMarked(outcomes: Readonly<Record<string, AttemptOutcome | 'deleted'>>) {
  let left = Object.keys(outcomes).length;
  while (left > 0) {
    await systemClock.sleep(20);
    for (const [id, outcome] of Object.entries(outcomes)) {
      const { resend_asked_ms: asked } = await rowOf(id);
      if (asked === null) continue;
      left -= 1;
      if (outcome === 'deleted') {
        await storage.write((tx) => tx.deleteFrom('submissions').where('id', '=', id).execute());
        continue;
      }
      const status = outcome === 'confirmed' ? ('delivered' as const) : ('undelivered' as const);
      const attempts = attemptLine({ outcome, by: 'operator' });
      const change = { status, attempts, resend_asked_ms: null };
      await storage.write((tx) => tx.updateTable('submissions').set(change).where('id', '=', id).execute());
    }
  }
}

const undelivered = { status: 'undelivered', reason: 'attempts_used_up' } as const;

describe('inbox resend', () => {
  test('waits for the attempt of each submission, and exits with 0 if all attempts are confirmed', async () => {
    const [one, other] = [await keep(undelivered), await keep({})];
    const [ran] = await Promise.all([
      inbox(['resend', one, other.toUpperCase(), one]),
      attemptMarked({ [one]: 'confirmed', [other]: 'confirmed' }),
    ]);
    expect(ran.stdout).toBe(`${one}  confirmed\n${other}  confirmed\n`);
    expect(ran.stderr).toMatch(/^A resent submission may have arrived before\. .*\n$/);
    expect(ran.status).toBe(0);
  });

  test('exits with 1 if one submission is refused or unconfirmed, and attempts all others', async () => {
    const agent = await keep({ ...undelivered, origin: 'agent' });
    const [bad, good] = [await keep(undelivered), await keep({ status: 'waiting', step: 1 })];
    const nobody = randomUUID();
    const [ran] = await Promise.all([
      inbox(['resend', agent, nobody, 'ada@example.com', bad, good, '--json']),
      attemptMarked({ [bad]: 'rejected', [good]: 'confirmed' }),
    ]);
    const lines = ran.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ id, result }) => [id, result]).sort()).toEqual(
      [
        [agent, 'refused'],
        [nobody, 'refused'],
        ['(no id)', 'refused'],
        [bad, 'rejected'],
        [good, 'confirmed'],
      ].sort(),
    );
    expect(ran.status).toBe(1);
    expect(ran.stdout + ran.stderr).not.toContain('ada@');
  });

  test('names the outcome of each attempt, and what was deleted before it', async () => {
    const outcomes = ['rejected', 'rateLimited', 'unconfirmed', 'unknown', 'deleted'] as const;
    const ids: string[] = [];
    for (const _ of outcomes) ids.push(await keep(undelivered));
    const [ran] = await Promise.all([
      inbox(['resend', ...ids]),
      attemptMarked(Object.fromEntries(ids.map((id, index) => [id, outcomes[index] ?? 'unknown']))),
    ]);
    const told = ran.stdout.trim().split('\n').toSorted();
    expect(told).toEqual(
      [
        `${ids[0]}  rejected by the receiver`,
        `${ids[1]}  not confirmed: the receiver asks to wait`,
        `${ids[2]}  not confirmed`,
        `${ids[3]}  unknown: the service stopped during the attempt`,
        `${ids[4]}  deleted before it was sent`,
      ].toSorted(),
    );
    expect([ran.status, ran.stderr]).toEqual([1, expect.stringMatching(/\nSome submissions were not confirmed\.\n$/)]);
  });

  test('--undelivered resends browser submissions only', async () => {
    await storage.write(async (tx) => void (await tx.deleteFrom('submissions').execute()));
    expect(await inbox(['resend', '--undelivered'])).toMatchObject({ status: 0, stdout: '' });
    const own = await keep(undelivered);
    await keep({ ...undelivered, origin: 'agent', reason: 'execution_failed' });
    const [ran] = await Promise.all([inbox(['resend', '--undelivered']), attemptMarked({ [own]: 'confirmed' })]);
    expect(ran).toMatchObject({ status: 0, stdout: `${own}  confirmed\n` });
  });
});

describe('inbox dismiss', () => {
  test('dismisses each submission with the given reason, also a submission of an agent', async () => {
    const ids = [await keep(undelivered), await keep({ ...undelivered, origin: 'agent' })];
    const ran = await inbox(['dismiss', ...ids, '--reason', 'spam']);
    expect(ran).toMatchObject({ status: 0, stderr: '' });
    expect(ran.stdout).toBe(ids.map((id) => `${id}  dismissed (spam)\n`).join(''));
    for (const id of ids) expect(await rowOf(id)).toMatchObject({ reason: 'spam' });
  });

  test('refuses a delivered submission, dismisses the others and exits with 1', async () => {
    const [delivered, waiting] = [await keep({}), await keep({ status: 'waiting' })];
    const ran = await inbox(['dismiss', delivered, waiting]);
    expect(ran.status).toBe(1);
    expect(ran.stdout).toContain(`${delivered}  refused: it is already delivered\n`);
    expect(await rowOf(waiting)).toMatchObject({ status: 'dismissed', reason: 'other' });
  });

  test('deletes the fields at once if SUBMISSION_RETENTION_DAYS is 0', async () => {
    const id = await keep(undelivered);
    expect((await inbox(['dismiss', id], { SUBMISSION_RETENTION_DAYS: '0' })).status).toBe(0);
    expect(await rowOf(id)).toMatchObject({ status: 'dismissed', email: null });
  });
});
