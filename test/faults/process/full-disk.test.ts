/** Changes in the console and requests of hosts while the disk is full. */
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { makeLink } from '../../../src/console/links.ts';
import { cookieOf, isSignedIn, operatorWith } from '../../console/operator.ts';
import { changeIn } from '../../crash/crashing.ts';
import { ACME, codeFor, connect, post, press, refresh, returned, statusWith, useCode } from '../../oauth/rig.ts';
import type { Answer } from '../../support/agent.ts';
import { beside, expectIntact } from '../../support/disk.ts';
import { freePort } from '../../support/free-port.ts';
import { injected } from '../../support/injected.ts';
import { type ServiceProcess, startProcess } from '../../support/process.ts';
import { keepRows, recentRow } from '../../support/submissions.ts';
import { until } from '../../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'full-disk-'));
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', folder]).status === 0;
if (!mounted) {
  if (process.env.TEST_SERVICES === 'required') throw new Error('No small disk can be mounted.');
  console.log('skipped: a small disk needs the right to mount one (root)');
}

/** A request that gets 503 while the disk is full, and `succeeded` afterwards. */
type Request = { ask(): Promise<Answer>; succeeded(answer: Answer): unknown };

describe.runIf(mounted)('service whose disk is full', () => {
  const filler = join(folder, 'filler');
  let service: ServiceProcess;
  let cookie = '';

  beforeAll(async () => {
    const port = await freePort();
    const environment = { BASE_URL: `http://127.0.0.1:${port}`, REDELIVERY: 'off', LOG_LEVEL: 'error' };
    service = await startProcess({ dataDir: folder, port, environment });
    cookie = cookieOf(await operatorWith(service, '').press(await linkFor('Jo'), {}));
  });
  afterEach(() => rmSync(filler, { force: true }));
  afterAll(async () => {
    await service.end();
    execFileSync('umount', [folder]);
    rmSync(folder, { recursive: true });
  });

  const linkFor = async (name: string) => {
    let link = '';
    await changeIn(folder, async (storage) => {
      link = await makeLink(storage, { name, now: new Date(), baseUrl: 'http://operator.example' });
    });
    return new URL(link).pathname;
  };
  /** Fills the disk. The write-ahead log is emptied before, because SQLite would write over its old pages. */
  const fill = () => {
    beside(service, (database) => database.exec('pragma wal_checkpoint(truncate)'));
    const { bavail, bsize } = statfsSync(folder);
    writeFileSync(filler, Buffer.alloc(bavail * bsize));
  };
  /** Returns the rows of all tables that the requests change, as text. */
  const stored = () =>
    beside(service, (database) =>
      ['submissions', 'operator_links', 'operator_audit', 'oauth_connections', 'oauth_access_tokens', 'scrub_requests']
        .map((table) => JSON.stringify(database.prepare(`select * from ${table} order by 1`).all()))
        .join('\n'),
    );

  const threeLeads = async () => {
    const undelivered = { status: 'undelivered', reason: 'rejected' } as const;
    const rows = [recentRow(undelivered), recentRow(undelivered), recentRow()];
    await changeIn(folder, (storage) => keepRows(storage, rows));
    return rows.map(({ id }) => id);
  };
  const progresses = (ids: string[]) =>
    beside(service, (database) => database.prepare('select id, progress from submissions').all())
      .filter(({ id }) => ids.includes(String(id)))
      .map(({ progress }) => progress);

  const requests: Record<string, () => Promise<Request>> = {
    'a change of several leads': async () => {
      const ids = await threeLeads();
      const body = new URLSearchParams([['do', 'spam'], ...ids.map((id) => ['id', id])]);
      return {
        ask: () => operatorWith(service, cookie).press('/operator/leads/bulk', {}, { body }),
        succeeded: () => expect(progresses(ids)).toEqual(['spam', 'spam', 'spam']),
      };
    },
    'the deletion of a person': async () => {
      const [id = ''] = await threeLeads();
      return {
        ask: () => operatorWith(service, cookie).press(`/operator/people/${id}`, { do: 'delete' }),
        succeeded: async () => {
          expect(progresses([id])).toEqual([]);
          // The rewrite of the file needs room too.
          await until(
            () => beside(service, (database) => database.prepare('select 1 from scrub_requests').all()).length === 0,
          );
        },
      };
    },
    'a sign-in': async () => {
      const link = await linkFor('Al');
      return {
        ask: () => operatorWith(service, '').press(link, {}),
        succeeded: async (answer) => expect(await isSignedIn(operatorWith(service, cookieOf(answer)))).toBe(true),
      };
    },
    'a new credential': async () => ({
      ask: () => {
        const form = { do: 'issue', name: 'bee', label: '', expires: '', scope: 'lead:preview' };
        return operatorWith(service, cookie).press('/operator/agents', form);
      },
      succeeded: ({ text }) =>
        expect([text.includes('class="token"'), globSync(`${folder}/agents.json.*`)]).toEqual([true, []]),
    }),
    'the consent to a connection': async () => ({
      ask: () => press(service),
      succeeded: async (answer) => expect((await useCode(service, returned(answer).code ?? '')).status).toBe(200),
    }),
    'a code': async () => {
      const code = await codeFor(service);
      return {
        ask: () => useCode(service, code),
        succeeded: async ({ body }) => expect(await statusWith(service, body.access_token)).toBe(200),
      };
    },
    'a refresh token': async () => {
      const { refresh_token } = await connect(service);
      return {
        ask: () => refresh(service, refresh_token),
        succeeded: async ({ body }) => expect(await statusWith(service, body.access_token)).toBe(200),
      };
    },
    'a revocation': async () => {
      const { access_token, refresh_token } = await connect(service);
      return {
        ask: () => post(service, { token: refresh_token, ...ACME }, { path: '/oauth/revoke' }),
        succeeded: async () => expect(await statusWith(service, access_token)).toBe(401),
      };
    },
  };

  test.for(Object.keys(requests))(
    'answers 503 to %s and stores no part, and does it once there is room',
    async (what, context) => {
      const { ask, succeeded } = (await requests[what]?.()) ?? expect.fail();
      const before = stored();
      fill();
      const refused = await ask();
      injected(context, 'disk full during a change in the console or a request of a host');
      expect(refused.status).toBe(503);
      expect(stored()).toBe(before);
      rmSync(filler);
      const answer = await ask();
      expect(answer.status).toBeOneOf([200, 303]);
      await succeeded(answer);
      expectIntact(service);
    },
  );
});
