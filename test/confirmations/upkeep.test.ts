/** Expiry, retention, metrics and alerts of confirmations (reference §6.7), on both databases. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSweep } from '../../src/confirmations/sweep.ts';
import { noMetrics } from '../../src/platform/metrics.ts';
import { executeAction, previewId } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { freePort } from '../support/free-port.ts';
import { metricsText } from '../support/metrics.ts';
import { type Service, startService } from '../support/service.ts';
import { lookAt, pending, pressButton } from './rig.ts';

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
    const text = await metricsText(metricsPort);
    for (const [status, count] of Object.entries({
      asked: 4,
      submitted: 1,
      failed: 0,
      declined: 1,
      reported: 1,
      expired: 1,
    })) {
      expect(text).toContain(`service_confirmations_total{status="${status}"} ${count}`);
    }
    const lines = service.logs.map((line) => JSON.parse(line));
    const linesOf = (msg: string) => lines.filter((line) => line.msg === msg);
    expect(linesOf('confirmation declined')).toMatchObject([{ confirmationId: declined?.id, action: 'newsletter' }]);
    expect(linesOf('confirmation reported')).toMatchObject([{ level: 'warn', confirmationId: reported?.id, ended: 1 }]);
    await service.parts.alerts.run();
    const alerts = await service.parts.storage.read((db) =>
      db.selectFrom('messages').select('about').where('kind', '=', 'alert'),
    );
    expect(alerts.map(({ about }) => JSON.parse(about ?? '').kind)).toEqual(['reported']);
  });

  test('the sweep deletes ended confirmations and reports after the retention of receipts, then GET returns 404', async () => {
    const { id } = await newsletter('later@example.com');
    const sweep = openSweep({ ...service.parts, metrics: noMetrics, days: 2 });
    clock.advance(60 * 60_000);
    await sweep.work();
    const [row] = await service.parts.storage.read((db) =>
      db.selectFrom('executions').select('status').where('action_id', '=', id),
    );
    expect(row?.status).toBe('expired');
    const before = await rowsOf();
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
