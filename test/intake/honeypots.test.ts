/** Reports about bots: a metric, a log line, a number on the console's first page (reference §4.3). */

import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openHoneypots } from '../../src/intake/honeypots.ts';
import { openLog } from '../../src/platform/log.ts';
import { noMetrics } from '../../src/platform/metrics.ts';
import { StorageUnavailable } from '../../src/storage/database.ts';
import { signIn, startWithConsole } from '../console/operator.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { post } from '../support/forms.ts';
import { freePort } from '../support/free-port.ts';
import { metricsText } from '../support/metrics.ts';
import type { Service } from '../support/service.ts';

const DAY_MS = 86_400_000;
const bot = { 'bot-field': 'secret value', email: 'bot@example.com', name: 'Bot' };

describe.each(databases)('filled honeypot on %s', (_name, create) => {
  let database: TestDatabase;
  let service: Service;
  let metricsPort: number;
  const clock = testClock('2026-09-01T12:00:00.000Z');
  beforeAll(async () => {
    database = await create();
    metricsPort = await freePort();
    service = await startWithConsole({
      clock,
      environment: { DATABASE_URL: database.url, METRICS_PORT: String(metricsPort) },
    });
  });
  afterAll(async () => {
    await service.close();
    await database.remove();
  });

  const rows = () =>
    service.parts.storage.read((db) => db.selectFrom('honeypot_counts').selectAll().orderBy('day').orderBy('form'));
  const send = (path: string, fields: Record<string, string>) => post(service, path, 'urlencoded', fields);
  const overview = async () => (await (await signIn(service)).get('/operator')).text;

  test('shows 0 submissions from bots on the first page of the console before the first one', async () => {
    expect(await overview()).toContain('0 submissions from bots in the last 30 days');
  });

  test('counts by form, with unknown forms and subscriptions as newsletter, and logs no value', async () => {
    for (const form of ['contact', 'contact', 'unheard of', 'homeowner_quote']) {
      expect((await send('/api/leads', { ...bot, form })).status).toBe(303);
    }
    expect((await send('/api/leads', bot)).status).toBe(303);
    expect((await send('/api/subscribe', bot)).status).toBe(303);
    const metrics = await metricsText(metricsPort);
    for (const [form, count] of Object.entries({
      contact: 2,
      homeowner_quote: 1,
      newsletter: 3,
      contractor_signup: 0,
    })) {
      expect(metrics).toContain(`service_honeypot_total{form="${form}"} ${count}`);
    }
    const lines = service.logs.filter((line) => line.includes('honeypot filled'));
    expect(lines).toHaveLength(6);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'info', form: 'contact' });
    expect(service.logs.join('')).not.toMatch(/secret value|bot@example|unheard of/);

    await service.parts.honeypots.work();
    const day = '2026-09-01';
    expect(await rows()).toEqual([
      { day, form: 'contact', times: 2 },
      { day, form: 'homeowner_quote', times: 1 },
      { day, form: 'newsletter', times: 3 },
    ]);
    expect(await overview()).toContain('6 submissions from bots in the last 30 days');
  });

  test('adds to the count that another instance stored for the same day', async () => {
    const other = openHoneypots({ ...service.parts, metrics: noMetrics });
    other.caught('contact');
    await other.close();
    expect((await rows())[0]).toMatchObject({ form: 'contact', times: 3 });
  });

  test('gets the usual answer while the store fails, and is counted after the store recovers', async () => {
    const { storage } = service.parts;
    await storage.write((tx) => sql`alter table honeypot_counts rename to honeypot_elsewhere`.execute(tx));
    const answer = await send('/api/leads', { ...bot, form: 'contact' });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/thank-you']);
    await expect(service.parts.honeypots.work()).rejects.toThrow();
    await storage.write((tx) => sql`alter table honeypot_elsewhere rename to honeypot_counts`.execute(tx));
    await service.parts.honeypots.work();
    expect((await rows())[0]).toMatchObject({ form: 'contact', times: 4 });
  });

  test('is removed from the first page of the console after 30 days, and from the store after 90', async () => {
    clock.advance(29 * DAY_MS);
    expect(await overview()).toContain('8 submissions from bots');
    await send('/api/leads', { ...bot, form: 'contact' });
    await service.parts.honeypots.work();
    expect(await overview()).toContain('9 submissions from bots');
    clock.advance(DAY_MS);
    expect(await overview()).toContain('1 submission from bots');
    clock.advance(60 * DAY_MS);
    await service.parts.honeypots.work();
    expect(await rows()).toHaveLength(4);
    clock.advance(DAY_MS);
    await service.parts.honeypots.work();
    expect(await rows()).toEqual([{ day: '2026-09-30', form: 'contact', times: 1 }]);
  });

  test('are kept in memory while the disk is full, and one line of the log says so', async () => {
    const { storage } = service.parts;
    const logged: unknown[] = [];
    let isFull = true;
    const writes: unknown[] = [];
    const honeypots = openHoneypots({
      ...{ clock, metrics: noMetrics },
      log: openLog('warn', (line) => logged.push(JSON.parse(line))),
      storage: {
        ...storage,
        requireDiskSpace() {
          if (isFull) throw new StorageUnavailable('The disk is full.');
        },
        write(change) {
          writes.push(change);
          return storage.write(change);
        },
      },
    });
    for (let time = 0; time < 2; time += 1) {
      honeypots.caught('newsletter');
      await honeypots.run();
    }
    expect(writes).toEqual([]);
    expect(logged).toMatchObject([
      { level: 'error', msg: 'honeypot counts not stored', err: { message: 'The disk is full.' } },
    ]);
    isFull = false;
    await honeypots.run();
    expect((await rows()).at(-1)).toMatchObject({ form: 'newsletter', times: 2 });
    await honeypots.close();
  });

  test('are deleted at most once an hour', async () => {
    const { storage } = service.parts;
    const honeypots = openHoneypots({ ...service.parts, clock, metrics: noMetrics });
    const old = { day: '2026-01-01', form: 'contact', times: 1 } as const;
    const isStored = async () => (await rows()).some(({ day }) => day === old.day);
    await honeypots.work();
    await storage.write((tx) => tx.insertInto('honeypot_counts').values(old).execute());
    clock.advance(3_599_999);
    await honeypots.work();
    expect(await isStored()).toBe(true);
    clock.advance(1);
    await honeypots.work();
    expect(await isStored()).toBe(false);
  });
});
