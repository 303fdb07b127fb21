import { spawn } from 'node:child_process';
import type { AddressInfo } from 'node:net';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, executeAction, previewId } from '../support/agent.ts';
import { databases } from '../support/databases.ts';
import { post } from '../support/forms.ts';
import { type Service, startService } from '../support/service.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

let upstream: ProgrammableUpstream;
beforeAll(async () => {
  upstream = await startUpstream();
});
afterAll(() => upstream.close());

const readiness = async (service: Service) => (await call(service, '/readyz', { method: 'GET' })).status;

describe('service while another process locks SQLite', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ environment: { UPSTREAM_URL: upstream.url } });
  });
  afterAll(() => service.close());

  test('returns 503 to an execution within 5 s, still answers other routes, and accepts the same key afterwards', async () => {
    const preview = await previewId(service);
    const other = new DatabaseSync(join(service.folder, 'service.db'));
    other.exec('begin immediate');
    const before = performance.now();
    const blocked = executeAction(service, preview, { key: 'locked' });
    const quick = await call(service, '/api/agent/manifest', { method: 'GET' });
    expect([quick.status, performance.now() - before < 1_500]).toEqual([200, true]);
    const answer = await blocked;
    expect([answer.status, answer.body]).toEqual([503, { error: expect.any(String) }]);
    expect(performance.now() - before).toBeLessThan(5_000);
    other.exec('rollback');
    other.close();
    expect((await executeAction(service, preview, { key: 'locked' })).status).toBe(200);
    expect(upstream.delivered.filter(({ event }) => event.data.client === 'acme')).toHaveLength(1);
  });

  test('returns 503, then the submitted receipt, if the lock comes between the upstream’s 200 and the settle', async () => {
    const preview = await previewId(service);
    const other = new DatabaseSync(join(service.folder, 'service.db'));
    const delivered = upstream.delivered.length;
    upstream.answer = (response) => {
      other.exec('begin immediate');
      response.writeHead(200).end();
    };
    const answer = await executeAction(service, preview, { key: 'half' });
    upstream.answer = answering(200);
    expect(answer.status).toBe(503);
    other.exec('rollback');
    other.close();
    const again = await executeAction(service, preview, { key: 'half' });
    expect([again.status, again.body.replay, again.body.receipt.status]).toEqual([200, true, 'submitted']);
    expect(upstream.delivered.length - delivered).toBe(1);
  });
});

// Messages of a PostgreSQL server: it is ready, and an administrator ended the connection.
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
const words = Buffer.from('SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0');
const TERMINATED = Buffer.concat([Buffer.from([0x45, 0, 0, 0, words.length + 4]), words]);

describe.runIf(databases.length > 1)('service while PostgreSQL is unavailable', () => {
  let service: Service;
  let proxy: Server;
  let remove: () => Promise<void>;
  /** Address of the database without the proxy. */
  let direct: string;
  let mode: 'pass' | 'refuse' | 'swallowAnswers' | 'terminate' = 'pass';
  const sockets = new Set<Socket>();
  const cut = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  beforeAll(async () => {
    const [, create] = databases[1] ?? expect.fail();
    const database = await create();
    remove = database.remove;
    direct = database.url;
    const target = new URL(database.url);
    const real = { port: Number(target.port || 5432), host: target.hostname };
    proxy = createServer((client) => {
      if (mode === 'refuse') return void client.destroy();
      const server = createConnection(real);
      for (const socket of [client, server]) sockets.add(socket.on('error', () => {}));
      client.on('data', (data) => server.write(data)).on('close', () => server.destroy());
      server
        .on('data', (data: Buffer) => {
          const isReady = data.subarray(-6).equals(READY);
          if (mode === 'terminate' && isReady) client.write(Buffer.concat([data, TERMINATED]));
          else if (mode !== 'swallowAnswers') client.write(data);
        })
        .on('close', () => client.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    target.port = String((proxy.address() as AddressInfo).port);
    service = await startService({
      environment: { UPSTREAM_URL: upstream.url, DATABASE_URL: target.href },
    });
  });
  afterAll(async () => {
    await service.close();
    cut();
    proxy.close();
    await remove();
  });

  test('returns 503 for executions and on /readyz, and recovers afterwards', async () => {
    const preview = await previewId(service);
    expect(await readiness(service)).toBe(200);
    mode = 'refuse';
    cut();
    expect([(await executeAction(service, preview, { key: 'away' })).status, await readiness(service)]).toEqual([
      503, 503,
    ]);
    mode = 'pass';
    expect([(await executeAction(service, preview, { key: 'away' })).status, await readiness(service)]).toEqual([
      200, 200,
    ]);
  });

  test('returns 503 and keeps running if PostgreSQL ends each connection as soon as the connection is ready', async () => {
    const preview = await previewId(service);
    cut();
    mode = 'terminate';
    expect((await executeAction(service, preview, { key: 'ended' })).status).toBe(503);
    mode = 'pass';
    cut();
    expect((await executeAction(service, preview, { key: 'ended' })).status).toBe(200);
  });

  test('returns 503, then one final result, if PostgreSQL’s answer to the claim is lost', async () => {
    const preview = await previewId(service);
    const delivered = upstream.delivered.length;
    // The claim is the second statement of an execution. The proxy passes the first and swallows the rest.
    const blocker = new pg.Client({ connectionString: direct });
    await blocker.connect();
    await blocker.query('begin; lock table executions in share mode');
    const running = executeAction(service, preview, { key: 'lost' });
    await new Promise((resolve) => setTimeout(resolve, 300));
    mode = 'swallowAnswers';
    await blocker.query('commit');
    await new Promise((resolve) => setTimeout(resolve, 300));
    cut();
    mode = 'pass';
    expect((await running).status).toBe(503);
    await blocker.end();
    const again = await executeAction(service, preview, { key: 'lost' });
    const rows = await service.parts.storage.read((db) =>
      db.selectFrom('executions').select('status').where('idempotency_key', '=', 'lost'),
    );
    expect(rows).toHaveLength(1);
    if (again.status === 502) expect(upstream.delivered.length).toBe(delivered);
    else expect([again.status, upstream.delivered.length]).toEqual([200, delivered + 1]);
  });
});

test('service with the embedded inbox returns 502 to a lead and 503 to an execution while SQLite is locked', async () => {
  const service = await startService();
  const preview = await previewId(service);
  const child = spawn(process.execPath, [
    '-e',
    `
    const { DatabaseSync } = require('node:sqlite');
    new DatabaseSync(${JSON.stringify(join(service.folder, 'service.db'))}).exec('begin immediate');
    console.log('locked'); setInterval(() => {}, 1000);`,
  ]);
  await new Promise((resolve) => child.stdout.once('data', resolve));
  const [lead, execution] = await Promise.all([
    post(service, '/api/leads', 'json', { email: 'a@b.co' }),
    executeAction(service, preview),
  ]);
  child.kill('SIGKILL');
  await service.close();
  expect([lead.status, execution.status]).toEqual([502, 503]);
});
