import { spawn, spawnSync } from 'node:child_process';
import { chownSync, globSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databases, type TestDatabase } from '../../support/databases.ts';
import { freePort } from '../../support/free-port.ts';
import { injected } from '../../support/injected.ts';
import { attempt, attemptUntilFinal, expectPromises, previewLeads } from '../../support/leads.ts';
import { spawnService, startProcess, temporaryFolder, untilItAnswers } from '../../support/process.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';
import { until } from '../../support/until.ts';
import { type ProgrammableUpstream, startUpstream } from '../../support/upstream.ts';

const create = databases.find(([name]) => name === 'PostgreSQL')?.[1];
if (create === undefined) console.log('skipped: lost answers of PostgreSQL need a PostgreSQL');

describe.runIf(create !== undefined)('service that loses PostgreSQL’s answer to a commit', () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let upstream: ProgrammableUpstream;
  let url: URL;
  let beside: pg.Client;
  beforeAll(async () => {
    upstream = await startUpstream();
    database = (await create?.()) ?? expect.fail();
    url = new URL(database.url);
    proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port || 5432) });
    url.port = String(proxy.port);
    beside = new pg.Client({ connectionString: database.url });
    await beside.connect();
  });
  afterAll(async () => {
    proxy.close();
    await beside.end();
    await upstream.close();
    await database.remove();
  });

  const statusOf = async (key: string) =>
    (await beside.query('select status from executions where idempotency_key = $1', [key])).rows[0]?.status;

  test.for([
    { what: 'a claim', statement: /insert into "executions"/, to: 'upstream', kept: 'executing' },
    {
      what: 'a settle',
      statement: /update "executions" .*"preview_digest" = /,
      to: 'upstream',
      kept: 'submitted',
    },
    {
      what: 'a delivery to the inbox',
      statement: /insert into "submissions"/,
      to: 'inbox:',
      kept: 'submitted',
    },
  ])(
    'returns 503, then the stored result, and delivers at most once, if the answer to $what is lost',
    async ({ statement, to, kept }, context) => {
      const service = await startProcess({
        environment: {
          DATABASE_URL: url.href,
          UPSTREAM_URL: to === 'upstream' ? upstream.url : to,
        },
      });
      const [lead] = await previewLeads(service, 1);
      if (lead === undefined) return expect.fail();
      proxy.onRequest = (bytes) => {
        if (!statement.test(bytes.toString('latin1'))) return;
        proxy.swallowAnswers = true;
        injected(context, 'PostgreSQL: COMMIT sent, its answer lost');
        proxy.onRequest = () => {};
      };
      const executing = attempt(service, lead);
      await until(async () => (await statusOf(lead.key)) === kept);
      proxy.cut();
      proxy.swallowAnswers = false;
      expect((await executing)?.status).toBe(503);
      await attemptUntilFinal(service, lead);
      expect(lead.answers.at(-1)?.status).toBe(kept === 'executing' ? 502 : 200);
      if (to === 'upstream') expectPromises(upstream, [lead]);
      else {
        const { rows } = await beside.query('select event from submissions where email = $1', [lead.email]);
        expectPromises({ delivered: rows.map(({ event }) => ({ event: JSON.parse(event) })) }, [lead]);
      }
      await service.end();
    },
  );

  test('refuses to start, with an explanation, if synchronous_commit is off', async (context) => {
    const name = url.pathname.slice(1);
    await beside.query(`alter database ${name} set synchronous_commit = off`);
    injected(context, 'PostgreSQL: synchronous_commit=off');
    const service = await spawnService({ environment: { DATABASE_URL: url.href } });
    await expect(untilItAnswers(service)).rejects.toThrow('synchronous_commit=off');
    await beside.query(`alter database ${name} reset synchronous_commit`);
  });
});

const [initdb] = globSync('/usr/lib/postgresql/*/bin/initdb').sort().reverse();
const isRoot = process.getuid?.() === 0;
if (initdb === undefined) {
  if (process.env.TEST_SERVICES === 'required') throw new Error('initdb is not there.');
  console.log('skipped: fsync=off needs a PostgreSQL of its own (initdb)');
}

describe.runIf(initdb !== undefined)('service on a PostgreSQL with fsync=off', () => {
  test('refuses to start, with an explanation', async (context) => {
    const folder = temporaryFolder();
    // PostgreSQL does not run as root.
    const user = isRoot ? { uid: idOf('u'), gid: idOf('g') } : {};
    if (isRoot) chownSync(folder, idOf('u'), idOf('g'));
    const bin = join(initdb ?? '', '..');
    const data = join(folder, 'data');
    const made = spawnSync(join(bin, 'initdb'), ['-D', data, '-A', 'trust', '-U', 'postgres', '--no-sync'], {
      ...user,
      cwd: folder,
    });
    expect(made.status, String(made.stderr)).toBe(0);
    const port = await freePort();
    const server = spawn(
      join(bin, 'postgres'),
      ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', folder, '-c', 'fsync=off'],
      { ...user, cwd: folder, stdio: 'ignore' },
    );
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    await until(async () => {
      const client = new pg.Client({ connectionString: url });
      const answers = await client.connect().then(
        () => true,
        () => false,
      );
      await client.end();
      return answers;
    });
    injected(context, 'PostgreSQL: fsync=off');
    const service = await spawnService({ environment: { DATABASE_URL: url } });
    await expect(untilItAnswers(service)).rejects.toThrow('fsync=off');
    server.kill('SIGINT');
    await new Promise((resolve) => server.once('close', resolve));
  });
});

/** Returns an id of Debian's user `postgres`. */
function idOf(kind: 'u' | 'g'): number {
  return Number(spawnSync('id', [`-${kind}`, 'postgres'], { encoding: 'utf8' }).stdout);
}
