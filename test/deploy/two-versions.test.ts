/**
 * A roll from the version before kept submissions: an instance of it and one of this version on one database
 * (beyond §1, "Upgrade"; docs/operations.md, "Upgrade").
 */
import { spawnSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { Storage } from '../../src/storage/database.ts';
import { attemptsOf } from '../../src/submissions/attempts.ts';
import { type Answer, call, executeAction, previewId, quote } from '../support/agent.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { type ServiceProcess, startProcess, temporaryFolder } from '../support/process.ts';
import { until } from '../support/until.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

const project = resolve(import.meta.dirname, '../..');

/** The last commit before kept submissions. */
const VERSION_BEFORE = 'f6f065e';

const before = checkOut(VERSION_BEFORE);
if (before === undefined) {
  console.warn(`Skipped: ${VERSION_BEFORE} is not in this copy of the history, so nothing rolls.`);
}

/** Its program, in a folder of its own; undefined where this copy's history does not reach back to it. */
function checkOut(commit: string): string | undefined {
  const git = ['-C', project, 'archive', commit, 'bin', 'src', 'content', 'package.json'];
  const archive = spawnSync('git', git, { maxBuffer: 100_000_000 });
  if (archive.status !== 0) return undefined;
  const program = temporaryFolder();
  const unpacked = spawnSync('tar', ['-x', '-C', program], { input: archive.stdout });
  if (unpacked.status !== 0) throw new Error(String(unpacked.stderr));
  // Both have the same dependencies.
  symlinkSync(join(project, 'node_modules'), join(program, 'node_modules'));
  return program;
}

const UPSTREAM_TIMEOUT_MS = 2_000;
/** A lease and the time until it is looked at; more on a machine that is busy. */
const SETTLED_WITHIN_MS = 30_000;

describe.skipIf(before === undefined).each(databases)('a roll on %s', (_name, create) => {
  let database: TestDatabase;
  let upstream: ProgrammableUpstream;
  let dataDir: string;
  let storage: Storage | undefined;
  const running: ServiceProcess[] = [];
  beforeEach(async () => {
    database = await create();
    upstream = await startUpstream();
    dataDir = temporaryFolder();
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((instance) => instance.end()));
    await storage?.close();
    storage = undefined;
    await upstream.close();
    await database.remove();
  });

  async function start(version: 'old' | 'new', destination: string): Promise<ServiceProcess> {
    const instance = await startProcess({
      dataDir,
      environment: {
        DATABASE_URL: database.url,
        UPSTREAM_URL: destination,
        UPSTREAM_TIMEOUT_MS: String(UPSTREAM_TIMEOUT_MS),
      },
      ...(version === 'old' && {
        shell: `exec "${process.execPath}" "${before}/bin/service.js" start`,
      }),
    });
    running.push(instance);
    return instance;
  }

  /** Only once the new version has made its table. */
  async function submissions() {
    storage ??= await database.open(systemClock);
    return await storage.read((db) => db.selectFrom('submissions').selectAll().orderBy('id'));
  }

  test('what the old one stores in its inbox is copied once, beside what the new one stores', async () => {
    const old = await start('old', 'inbox:');
    const emails: string[] = [];
    const lead = async (service: ServiceProcess) => {
      const email = `person-${emails.length}@example.com`;
      emails.push(email);
      const { status } = await call(service, '/api/leads', {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ form: 'homeowner_quote', ...quote, email }),
      });
      expect(status).toBe(200);
    };
    await lead(old);
    const fresh = await start('new', 'inbox:');
    await lead(old);
    await lead(fresh);
    // The migration has copied the first; the second stands in the old inbox alone.
    expect((await submissions()).map(({ email }) => email).sort()).toEqual([emails[0], emails[2]]);

    const another = await start('new', 'inbox:');
    await until(async () => (await submissions()).length === 3, 20_000);
    await lead(old);
    await lead(another);
    running.splice(running.indexOf(another), 1);
    await another.end();
    await start('new', 'inbox:');
    await until(async () => (await submissions()).length === 5, 20_000);
    const rows = await submissions();
    expect(rows.map(({ email }) => email).sort()).toEqual(emails);
    expect(new Set(rows.map(({ status }) => status))).toEqual(new Set(['delivered']));
  });

  test.each(['inbox:', 'HTTP'])(
    'to %s executions of both end, and each replays the other’s',
    async (to) => {
      const destination = to === 'HTTP' ? upstream.url : to;
      const old = await start('old', destination);
      const fresh = await start('new', destination);
      for (const [one, other] of [
        [old, fresh],
        [fresh, old],
      ] as const) {
        const preview = await previewId(one);
        const key = preview.slice(-40);
        const executed = await executeAction(one, preview, { key });
        expect(executed).toMatchObject({ status: 200, body: { receipt: { status: 'submitted' } } });
        const replayed = await executeAction(other, preview, { key });
        expect(replayed.body).toEqual({ ...executed.body, replay: true });
        const used = await executeAction(other, preview, { key: `${key} again` });
        expect(used).toMatchObject({ status: 409, body: { error: 'preview_already_used' } });
      }
      if (to === 'HTTP') expect(upstream.delivered).toHaveLength(2);
    },
  );

  test.each([
    { died: 'old', survives: 'new' },
    { died: 'new', survives: 'old' },
  ] as const)(
    'an execution whose $died instance died is settled by the $survives one, and its submission with it',
    async ({ died, survives }) => {
      const instances = {
        old: await start('old', upstream.url),
        new: await start('new', upstream.url),
      };
      upstream.answer = () => instances[died].kill('SIGKILL');
      const preview = await previewId(instances[died]);
      const execute = (service: ServiceProcess) =>
        executeAction(service, preview, { key: 'killed' });
      await expect(execute(instances[died])).rejects.toThrow();
      expect(upstream.delivered).toHaveLength(1);
      let answer: Answer | undefined;
      await until(async () => {
        answer = await execute(instances[survives]);
        return answer.status !== 409;
      }, SETTLED_WITHIN_MS);
      expect(answer).toMatchObject({ status: 502, body: { receipt: { status: 'failed' } } });

      // The roll goes on.
      const restarted = await start('new', upstream.url);
      expect((await execute(restarted)).body).toEqual(answer?.body);
      if (died === 'old') return expect(await submissions()).toEqual([]);
      await until(async () => (await submissions())[0]?.status !== 'sending', SETTLED_WITHIN_MS);
      const [row] = await submissions();
      expect(row).toMatchObject({
        id: answer?.body.receipt.action_id,
        status: 'undelivered',
        reason: 'execution_failed',
      });
      expect(attemptsOf(row?.attempts ?? '')).toMatchObject([{ outcome: 'unknown', by: 'first' }]);
    },
  );
});
