/** Expiry, retention, metrics and alerts of confirmations (reference §6.7), on both databases. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSweep } from '../../src/confirmations/sweep.ts';
import { openLog } from '../../src/platform/log.ts';
import { noMetrics } from '../../src/platform/metrics.ts';
import type { ConfirmationRow, ExecutionRow } from '../../src/storage/schema.ts';
import { executeAction, previewAction, previewId } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { freePort } from '../support/free-port.ts';
import { metricsText } from '../support/metrics.ts';
import { type Service, startService, tokens } from '../support/service.ts';
import { askToConfirm, lookAt, pending, pressButton } from './rig.ts';

const DAY_MS = 86_400_000;

describe.each(databases)('upkeep of confirmations on %s', (_name, create) => {
  let database: TestDatabase;
  let service: Service;
  let metricsPort: number;
  const clock = testClock();
  beforeAll(async () => {
    database = await create();
    metricsPort = await freePort();
    service = await startService({
      clock,
      environment: {
        DATABASE_URL: database.url,
        ALERT_EMAIL: 'alerts@paint.example',
        METRICS_PORT: String(metricsPort),
        RECEIPT_RETENTION_DAYS: '2',
      },
    });
  });
  afterAll(async () => {
    await service.close();
    await database.remove();
  });

  const newsletter = (email: string) => pending(service, { action: 'newsletter', fields: { email } });
  const rowsOf = async () => {
    const { storage } = service.parts;
    const ids = await storage.read((db) => db.selectFrom('confirmations').select('id'));
    const reports = await storage.read((db) => db.selectFrom('confirmation_reports').select('client'));
    return [ids.length, reports.length];
  };

  test('metrics count each status, and a report queues an alert', async () => {
    const [sent, declined, reported, cancelled] = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => newsletter(`${name}@example.com`)),
    );
    await pressButton(service, sent?.path ?? '', 'send');
    for (let click = 0; click < 2; click += 1) {
      await pressButton(service, declined?.path ?? '', 'decline');
      await pressButton(service, reported?.path ?? '', 'report');
    }
    await lookAt(service, cancelled?.id ?? '', { method: 'DELETE' });
    // A report about a sandbox client raises no alert.
    const { sandbox: token } = tokens;
    const preview = await previewAction(service, 'newsletter', { email: 'test@example.com' }, { token });
    const test = await askToConfirm(service, preview.body.preview_id, { token });
    await pressButton(service, new URL(test.body.confirmation.confirmation_url).pathname, 'report');
    const replaced = await newsletter('e@example.com');
    await newsletter('e@example.com');
    const text = await metricsText(metricsPort);
    for (const [status, count] of Object.entries({
      asked: 6,
      submitted: 1,
      failed: 0,
      declined: 1,
      reported: 1,
      expired: 2,
    })) {
      expect(text).toContain(`service_confirmations_total{status="${status}"} ${count}`);
    }
    const lines = service.logs.map((line) => JSON.parse(line));
    const linesOf = (msg: string) => lines.filter((line) => line.msg === msg);
    expect(linesOf('confirmation declined')).toMatchObject([{ confirmationId: declined?.id, action: 'newsletter' }]);
    expect(linesOf('confirmation reported')).toMatchObject([
      { level: 'warn', confirmationId: reported?.id, ended: 1 },
      { level: 'warn', client: 'tester', ended: 1 },
    ]);
    expect(linesOf('confirmation cancelled by client')).toMatchObject([{ confirmationId: cancelled?.id }]);
    expect(linesOf('confirmation requested')[5]).toMatchObject({
      confirmationId: replaced.id,
      client: 'acme',
      action: 'newsletter',
      via: 'page',
    });
    await service.parts.alerts.run();
    const alerts = await service.parts.storage.read((db) =>
      db.selectFrom('messages').select('about').where('kind', '=', 'alert'),
    );
    expect(alerts.map(({ about }) => JSON.parse(about ?? ''))).toMatchObject([{ kind: 'reported' }]);
    expect(JSON.stringify(alerts)).not.toContain('tester');
  });

  test('the sweep ends more confirmations than it reads at once, and deletes codes after a day', async () => {
    const { storage } = service.parts;
    const time = clock.now().toISOString();
    const many = Array.from({ length: 201 }, (_, number) => `many-${number}`);
    await storage.write(async (tx) => {
      const { id: _, ...row } = (
        await tx.selectFrom('confirmations').selectAll().limit(1).execute()
      )[0] as ConfirmationRow;
      const overdue = { ...row, fields: '{}', email: 'x@example.com', expires_at: time };
      const rows = many.map((id) => ({ ...overdue, id, secret_digest: id }));
      await tx.insertInto('confirmations').values(rows).execute();
      const { action_id: __, ...execution } = (
        await tx.selectFrom('executions').selectAll().limit(1).execute()
      )[0] as ExecutionRow;
      const asked = { ...execution, status: 'asked' as const, settled_at: null };
      const executions = many.map((id) => ({ ...asked, action_id: id, idempotency_key: id, preview_digest: id }));
      await tx.insertInto('executions').values(executions).execute();
      const code = { id: 'many-0', client: 'acme', mailbox_digest: 'x', asked_at: time };
      await tx
        .insertInto('confirmation_codes')
        .values([1, 2].map((number) => ({ ...code, number })))
        .execute();
    });
    expect(await service.parts.pending.expire()).toBe(201);
    const codes = () => storage.read((db) => db.selectFrom('confirmation_codes').select('number'));
    clock.step(DAY_MS - 1);
    await openSweep({ ...service.parts, metrics: noMetrics, days: 2 }).work();
    expect(await codes()).toHaveLength(2);
    clock.step(1);
    await openSweep({ ...service.parts, metrics: noMetrics, days: 2 }).work();
    expect(await codes()).toEqual([]);
    clock.step(-DAY_MS);
    await storage.write(async (tx) => {
      await tx.deleteFrom('confirmations').where('id', 'in', many).execute();
      await tx.deleteFrom('executions').where('action_id', 'in', many).execute();
    });
  });

  test('a sweep that fails is logged', async () => {
    const lines: string[] = [];
    const expire = async () => {
      throw new Error('away');
    };
    const log = openLog('info', (line) => lines.push(line));
    await openSweep({ ...service.parts, metrics: noMetrics, log, pending: { expire }, days: 2 }).run();
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'error', msg: 'overdue confirmations not expired', err: { message: 'away' } },
    ]);
  });

  test('the sweep deletes ended confirmations and reports after the retention of receipts, then GET returns 404', async () => {
    const { id } = await newsletter('later@example.com');
    const counted: [string, number | undefined][] = [];
    const countConfirmation = (status: string, count?: number) => void counted.push([status, count]);
    const sweep = openSweep({ ...service.parts, metrics: { countConfirmation }, days: 2 });
    const before = await rowsOf();
    expect(before[1]).toBe(2);
    clock.step(60 * 60_000);
    await sweep.work();
    expect(counted).toEqual([['expired', 1]]);
    const [row] = await service.parts.storage.read((db) =>
      db.selectFrom('executions').select('status').where('action_id', '=', id),
    );
    expect(row?.status).toBe('expired');
    clock.advance(DAY_MS);
    await sweep.work();
    expect(await rowsOf()).toEqual(before);
    expect((await lookAt(service, id)).status).toBe(200);
    clock.advance(2 * DAY_MS);
    // A sweep of its own deletes receipts. The rows that belong to them are deleted after it.
    await service.parts.storage.write((tx) => tx.deleteFrom('executions').execute());
    await openSweep({ ...service.parts, metrics: noMetrics, days: 2 }).work();
    expect(await rowsOf()).toEqual([0, 0]);
    expect((await lookAt(service, id)).status).toBe(404);
    const preview = await previewId(service, 'newsletter', { email: 'c@example.com' });
    expect((await executeAction(service, preview, { action: 'newsletter' })).status).toBe(200);
  });
});
