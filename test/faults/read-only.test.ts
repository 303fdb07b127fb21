import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, executeAction, previewAction } from '../support/agent.ts';
import { databases } from '../support/databases.ts';
import { startProcess } from '../support/process.ts';
import { startService } from '../support/service.ts';
import { canInject, inject } from '../support/strace.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

let upstream: ProgrammableUpstream;
beforeAll(async () => {
  upstream = await startUpstream();
});
afterAll(() => upstream.close());

type Asked = { url: string };

const ready = async (service: Asked) => (await call(service, '/readyz', { method: 'GET' })).status;

/** Returns a preview id, and a function that counts the deliveries of its submission. */
async function newPreview(service: Asked, email: string) {
  const fields = { email, name: 'Ada', postal_code: '1' };
  const { body } = await previewAction(service, 'homeowner_quote', fields);
  const delivered = () =>
    upstream.delivered.filter(({ event }) => {
      const { fields } = event.data as { fields: { email: string } };
      return fields.email === email;
    }).length;
  return { id: body.preview_id as string, delivered };
}

if (!canInject) console.log('skipped: a read-only disk needs strace');

describe.runIf(canInject)('service on a disk that became read-only', () => {
  test('returns 503 on /readyz and for executions, sends nothing, and recovers afterwards', async () => {
    const service = await startProcess({
      environment: { UPSTREAM_URL: upstream.url, LOG_LEVEL: 'warn' },
    });
    const preview = await newPreview(service, 'disk@example.com');
    expect(await ready(service)).toBe(200);
    const disk = await inject(service.pid, 'pwrite64:error=EROFS');
    expect(await ready(service)).toBe(503);
    const refused = await executeAction(service, preview.id, { key: 'disk' });
    expect([refused.status, preview.delivered()]).toEqual([503, 0]);
    expect((await call(service, '/', { method: 'GET' })).status).toBe(200);
    expect(await disk.stop()).toBeGreaterThan(0);
    const taken = await executeAction(service, preview.id, { key: 'disk' });
    expect([taken.status, preview.delivered(), await ready(service)]).toEqual([200, 1, 200]);
  });
});

describe.runIf(databases.length > 1)('service on a PostgreSQL that became read-only', () => {
  test('returns 503 on /readyz and for executions, still replays receipts, and recovers afterwards', async () => {
    const [, create] = databases[1] ?? expect.fail();
    const database = await create();
    const service = await startService({
      environment: { UPSTREAM_URL: upstream.url, DATABASE_URL: database.url },
    });
    const administrator = new pg.Client({ connectionString: database.url });
    await administrator.connect();
    const name = new URL(database.url).pathname.slice(1);
    /** Also ends all sessions, as a failover does. */
    const setReadOnly = async (value: 'on' | 'off') => {
      await administrator.query(`alter database ${name} set default_transaction_read_only = ${value}`);
      await administrator.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
        [name],
      );
    };
    const preview = await newPreview(service, 'server@example.com');
    const earlier = await newPreview(service, 'kept@example.com');
    const first = await executeAction(service, earlier.id, { key: 'earlier' });
    expect(await ready(service)).toBe(200);
    await setReadOnly('on');
    await expect.poll(() => ready(service)).toBe(503);
    const refused = await executeAction(service, preview.id, { key: 'server' });
    expect([refused.status, preview.delivered()]).toEqual([503, 0]);
    const replay = await executeAction(service, earlier.id, { key: 'earlier' });
    expect(replay.body).toEqual({ ...first.body, replay: true });
    await administrator.query('set default_transaction_read_only = off');
    await setReadOnly('off');
    await expect.poll(() => ready(service)).toBe(200);
    const taken = await executeAction(service, preview.id, { key: 'server' });
    expect([taken.status, preview.delivered()]).toEqual([200, 1]);
    await administrator.end();
    await service.close();
    await database.remove();
  });
});
