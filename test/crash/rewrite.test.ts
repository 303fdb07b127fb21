/** Kills a process while it rewrites SQLite's file after an erasure (reference §19.8). */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { makeLink } from '../../src/console/links.ts';
import { cookieOf, OUR_PAGE, operatorWith } from '../console/operator.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { injected } from '../support/injected.ts';
import { canInject, inject } from '../support/strace.ts';
import { keepRows, recentRow } from '../support/submissions.ts';
import { until } from '../support/until.ts';
import { LOOKED_WITHIN_MS, rowsOf } from './crashing.ts';
import { type Restarting, startRestarting } from './restarting.ts';

vi.setConfig({ testTimeout: 120_000 });

/** Leads of other people, which make the file longer. An erasure and its rewrite then have about 950 writes. */
const OTHERS = 100;
const WRITES_APART = 200;

describe('rewrite after an erasure whose process is killed', () => {
  let database: TestDatabase;
  let restarting: Restarting;
  let cookie = '';
  let people = 0;
  let folder = '';

  beforeAll(async () => {
    const [, create] = databases[0] ?? expect.fail();
    database = await create();
    folder = dirname(database.url.replace('sqlite:', ''));
    restarting = await startRestarting(database);
    const link = { name: 'Jo', now: new Date(), baseUrl: 'http://operator.example' };
    const { pathname } = new URL(await restarting.using((storage) => makeLink(storage, link)));
    cookie = cookieOf(await operatorWith(restarting.now(), '').press(pathname, {}));
    const message = 'x'.repeat(2_000);
    const rows = Array.from({ length: OTHERS }, () => recentRow({ fields: { email: 'eve@example.com', message } }));
    await restarting.using((storage) => keepRows(storage, rows));
  });
  afterAll(async () => {
    await restarting.now().end();
    await database.remove();
  });

  // A longer read would keep the rewrite from emptying the write-ahead log.
  const count = (table: string) => Number(rowsOf(folder, `select count(*) as rows from ${table}`)[0]?.rows);
  const requests = () => count('scrub_requests');
  const leads = () => count('submissions');
  const traces = () => {
    const path = join(folder, 'service.db');
    const bytes = [path, `${path}-wal`].map((each) => readFileSync(each).toString('latin1')).join();
    return new Set(bytes.match(/trace-of-\d+@example/g)).size;
  };
  /** Stores a person's lead. Returns the click that erases the person. */
  const person = async () => {
    people += 1;
    const row = recentRow({ fields: { email: `trace-of-${people}@example.com` } });
    await restarting.using((storage) => keepRows(storage, [row]));
    return (headers: Record<string, string> = {}) =>
      operatorWith(restarting.now(), cookie).press(
        `/operator/people/${row.id}`,
        { do: 'delete' },
        { headers: { ...OUR_PAGE, ...headers } },
      );
  };
  /** Erases another person, whose rewrite also removes what the dead processes left. */
  const expectClean = async () => {
    expect((await (await person())()).status).toBe(303);
    await until(() => requests() === 0, LOOKED_WITHIN_MS);
    expect([traces(), leads()]).toEqual([0, OTHERS]);
  };

  test.for(['before the rewrite', 'after the rewrite'])(
    'is requested again by the stored request if killed %s, until no file has a trace',
    async (point, context) => {
      await restarting.kill(point, await person());
      injected(context, `erasure: kill -9 ${point}`);
      expect(requests()).toBe(1);
      await expectClean();
    },
  );

  test.runIf(canInject)(
    'leaves all other leads and the request for a rewrite if killed at any write',
    async (context) => {
      for (let write = 1; ; write += WRITES_APART) {
        const erase = await person();
        const disk = await inject(restarting.now().pid, `pwrite64:signal=KILL:when=${write}`);
        const answer = await erase().catch(() => undefined);
        await until(() => isDead() || (answer !== undefined && requests() === 0), LOOKED_WITHIN_MS);
        await disk.stop();
        if (!isDead()) break;
        await restarting.restart(`write ${write}`);
        injected(context, 'erasure: kill -9 at a write of it or of its rewrite');
        const left = [leads(), requests()];
        const [not, erased, rewritten] = [
          [OTHERS + 1, 0],
          [OTHERS, 1],
          [OTHERS, 0],
        ];
        expect(left).toBeOneOf(answer === undefined ? [not, erased] : [erased, rewritten]);
        if (left[0] !== OTHERS) await erase();
        await expectClean();
      }
      await expectClean();
    },
  );
  /** A killed process stays as a zombie while strace is attached to it. */
  const isDead = () => {
    try {
      return readFileSync(`/proc/${restarting.now().pid}/stat`, 'utf8').includes(') Z ');
    } catch {
      return true;
    }
  };
});
