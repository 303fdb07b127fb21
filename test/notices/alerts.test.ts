/** Alerts about faults, sent to a real mail server (reference §11.6, `ALERT_EMAIL`). */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Alerts } from '../../src/notices/alerts.ts';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { type MailServer, type MailServerOptions, startMailServer } from '../mail/mail-server.ts';
import { withClock } from '../mail/outbox-parts.ts';
import { type TestClock, testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { alertEmail, empty, type InstanceOptions, keep, openInstance, parsed, submission } from './operator-mail.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Reports an unstored submission, so that the alerts see a fault of the store. */
function storeWasAway(alerts: Pick<Alerts, 'attemptCompleted'>): void {
  alerts.attemptCompleted({
    by: 'redelivery',
    outcome: { kind: 'unknown' },
    next: { kind: 'delivered' },
    unstored: true,
  });
}

/** Returns a function that wraps two stores, so that their transactions begin together. */
function inStepWith() {
  let waiting: (() => void) | undefined;
  const meet = () =>
    new Promise<void>((resolve) => {
      waiting?.();
      if (waiting !== undefined) resolve();
      waiting = waiting === undefined ? resolve : undefined;
      setTimeout(resolve, 50);
    });
  return (storage: Storage): Storage => ({
    ...storage,
    write: async (change) => {
      if (!('change' in change)) await meet();
      return await storage.write(change);
    },
  });
}

describe.each(databases)('alerts, on %s', (_name, create) => {
  let database: TestDatabase;
  let clock: TestClock;
  let storage: Storage;
  let server: MailServer;
  let answers: MailServerOptions;
  const closers: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    database = await create();
  });
  beforeEach(async () => {
    clock = testClock();
    storage = await openStorage();
    await empty(storage);
    answers = {};
    server = await startMailServer({ recipient: (address) => answers.recipient?.(address) });
    closers.push(server.close);
  });
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });
  afterAll(() => database.remove());

  async function openStorage() {
    const opened = await database.open(clock);
    closers.push(opened.close);
    return withClock(opened, clock);
  }
  async function instance(options: InstanceOptions = {}, on = storage, itsClock = clock) {
    const environment = { OPERATOR_TIME_ZONE: 'UTC', ...options.environment };
    const opened = await openInstance(on, itsClock, server, { ...options, environment });
    closers.push(opened.outbox.close);
    const { alerts, outbox } = opened;
    /** Advances the clock, then runs one check and one pass of the outbox. */
    const pass = async (ms: number) => {
      clock.advance(ms);
      await alerts.run();
      await outbox.work();
    };
    return { ...opened, pass };
  }
  const subjects = async () => (await parsed(server)).map(({ subject }) => subject);
  const messages = () => storage.read((db) => db.selectFrom('messages').selectAll());

  test('alerts about an unconfirming upstream once an hour, with counts, then sends the all-clear', async () => {
    const { alerts, pass } = await instance();
    alerts.raise('upstream');
    alerts.raise('upstream');
    await pass(0);
    alerts.raise('upstream');
    await pass(MINUTE);
    const [first, ...more] = await parsed(server);
    expect(more).toEqual([]);
    expect(first?.to).toEqual([{ name: '', address: alertEmail }]);
    expect(first?.replyTo).toBeUndefined();
    expect(first?.subject).toBe('Leads do not reach the receiver');
    expect(first?.text).toMatch(
      /^2 submissions from browsers were not confirmed by the receiver at their first attempts\./,
    );
    await pass(HOUR - MINUTE);
    expect((await parsed(server))[1]?.text).toMatch(/^Since 1 Sept 2026, 12:00 UTC: 1 more submission from a browser /);
    alerts.resolve('upstream');
    await pass(MINUTE);
    alerts.resolve('upstream');
    await pass(3 * HOUR);
    expect(await subjects()).toEqual([
      'Leads do not reach the receiver',
      'Leads do not reach the receiver',
      'Resolved: leads reach the receiver again',
    ]);
    expect((await parsed(server))[2]?.text).toMatch(/^Leads reach the receiver again\. 0 were delivered, 0 wait\./);
  });

  test('queues the all-clear only once the alert was sent, each message with its own Message-ID', async () => {
    const { alerts, outbox } = await instance();
    const check = async () => {
      clock.advance(MINUTE);
      await alerts.run();
      return (await messages()).length;
    };
    alerts.raise('upstream');
    expect(await check()).toBe(1);
    alerts.resolve('upstream');
    expect(await check()).toBe(1);
    await outbox.work();
    expect(await check()).toBe(2);
    const ids = (await messages()).map(({ message_id }) => message_id);
    expect(ids).toEqual([
      expect.stringMatching(/^<.+@paint\.example>$/),
      expect.stringMatching(/^<.+@paint\.example>$/),
    ]);
    expect(new Set(ids).size).toBe(2);
  });

  test('sends one alert and one all-clear for a fault that two instances report', async () => {
    // The second clock is ahead, so that the instances would write different times.
    const ahead = { ...clock, now: () => new Date(clock.now().getTime() + 7) };
    const inStep = inStepWith();
    const one = await instance({}, inStep(storage));
    const two = await instance({}, inStep(await openStorage()), ahead);
    for (const { alerts } of [one, two]) alerts.raise('upstream');
    for (let round = 0; round < 3; round += 1) {
      await Promise.all([one.pass(0), two.pass(0)]);
    }
    expect(await subjects()).toEqual(['Leads do not reach the receiver']);
    two.alerts.resolve('upstream');
    one.alerts.resolve('upstream');
    for (let round = 0; round < 3; round += 1) {
      await Promise.all([one.pass(MINUTE), two.pass(0)]);
    }
    expect((await subjects()).slice(1)).toEqual(['Resolved: leads reach the receiver again']);
  });

  test('alerts about a message that failed permanently, but not about a failed alert', async () => {
    const { outbox, alerts, pass } = await instance();
    answers.recipient = (address) => (address === alertEmail ? undefined : { code: 550, text: '5.1.1 no' });
    await storage.write(outbox.messageTo('jane@canary.example'));
    await outbox.work();
    await pass(0);
    expect(await subjects()).toEqual(['Messages could not be sent']);
    expect(server.received.map(({ raw }) => raw).join()).not.toContain('canary');

    answers.recipient = () => ({ code: 550, text: '5.1.1 no' });
    const offered = server.offered.length;
    alerts.raise('given_up');
    await pass(0);
    for (let hour = 0; hour < 4; hour += 1) await pass(HOUR);
    expect(server.offered.slice(offered)).toEqual([alertEmail]);
    const dead = (await messages()).filter(({ status }) => status === 'dead');
    expect(dead.map(({ kind }) => kind).sort()).toEqual(['alert', 'confirmation']);
  });

  test('alerts about a database outage when the database is available again, with the all-clear a minute later', async () => {
    let away = false;
    const unsteady: Storage = {
      ...storage,
      check: async () => {
        if (away) throw new StorageUnavailable('away');
        await storage.check();
      },
    };
    const { alerts, pass } = await instance({}, unsteady);
    await pass(0);
    away = true;
    alerts.raise('given_up');
    for (let look = 0; look < 3; look += 1) await pass(5_000);
    expect(await messages()).toEqual([]);
    away = false;
    await pass(5_000);
    expect((await subjects()).sort()).toEqual(['Leads are undelivered', 'The database was unavailable']);
    await pass(59_000);
    expect(server.received).toHaveLength(2);
    await pass(1_000);
    expect((await subjects())[2]).toBe('Resolved: the database works again');
  });

  test('alerts once about a database outage that only requests noticed, and not before the database is available', async () => {
    let away = false;
    const unsteady: Storage = {
      ...storage,
      check: async () => {
        if (away) throw new StorageUnavailable('away');
        await storage.check();
      },
    };
    const { alerts, pass } = await instance({}, unsteady);
    await pass(0);
    for (let request = 0; request < 3; request += 1) storeWasAway(alerts);
    away = true;
    await pass(5_000);
    expect(await messages()).toEqual([]);
    away = false;
    storeWasAway(alerts);
    await pass(5_000);
    const [first] = await parsed(server);
    expect(first?.subject).toBe('The database was unavailable');
    expect(first?.text).toMatch(/^1 outage of the database was found\. /);
    // The fault is counted within the hour, and ends only a minute later.
    await pass(30_000);
    storeWasAway(alerts);
    await pass(5_000);
    await pass(59_000);
    expect(server.received).toHaveLength(1);
    await pass(1_000);
    expect((await subjects())[1]).toBe('Resolved: the database works again');
  });

  test('alerts each hour while less than 1 GB of disk space is free, and sends the all-clear at 2 GB', async () => {
    let freeBytes = 1e9;
    const { pass } = await instance({ diskSpace: async () => ({ freeBytes, wholeBytes: 1e12 }) });
    await pass(0);
    expect(server.received).toEqual([]);
    freeBytes = 1e9 - 1;
    await pass(MINUTE - 1);
    expect(server.received).toEqual([]);
    await pass(1);
    expect(await subjects()).toEqual(['The disk is nearly full']);
    for (let minute = 0; minute < 60; minute += 10) await pass(10 * MINUTE);
    expect((await parsed(server))[1]?.text).toMatch(/^Since 1 Sept 2026, 12:01 UTC: 5 more checks, one a minute, /);
    freeBytes = 2e9 - 1;
    await pass(MINUTE);
    expect(server.received).toHaveLength(2);
    freeBytes = 2e9;
    await pass(MINUTE);
    expect((await subjects())[2]).toBe('Resolved: the disk has enough space again');
  });

  test('alerts below 5 % of free space on a small disk, and sends the all-clear at 10 %, also after a restart', async () => {
    const small = (freeBytes: number) => ({
      diskSpace: async () => ({ freeBytes, wholeBytes: 1e9 }),
    });
    const before = await instance(small(49e6));
    await before.pass(0);
    const between = await instance(small(99e6));
    await between.pass(MINUTE);
    expect(await subjects()).toEqual(['The disk is nearly full']);
    const then = await instance(small(100e6));
    await then.pass(MINUTE);
    expect((await subjects())[1]).toBe('Resolved: the disk has enough space again');
  });

  test('two instances send one alert about undelivered browser submissions in the last week before deletion', async () => {
    const [wall] = await storage.read((db) => db.selectNoFrom(storage.dialect.wallClock.as('now')));
    const now = Number(wall?.now);
    const undelivered = (days: number, more: object = {}) =>
      submission({ status: 'undelivered', status_since_ms: now - days * DAY, ...more });
    await keep(
      storage,
      ...[undelivered(83.1), undelivered(85), undelivered(82)],
      ...[undelivered(84, { origin: 'agent' }), undelivered(84, { email: null })],
      undelivered(84, { status: 'delivered' }),
    );
    const [one, two] = [await instance(), await instance({}, await openStorage())];
    for (let hour = 0; hour < 3; hour += 1) {
      await Promise.all([one.pass(HOUR), two.pass(0)]);
    }
    const [mail, ...more] = await parsed(server);
    expect(more).toEqual([]);
    expect(mail?.subject).toBe('Undelivered leads will be deleted within a week');
    expect(mail?.text).toMatch(/^2 undelivered submissions will lose their content within a week\./);
    expect(mail?.text).toContain('https://paint.example/operator/leads?status=undelivered\n');
  });

  test('counts each expiring submission in one alert only', async () => {
    const lookedUntil = async () => {
      const [hour] = await storage.read((db) =>
        db.selectFrom('mail_hours').select('looked_until_ms').where('kind', '=', 'expiring'),
      );
      return Number(hour?.looked_until_ms);
    };
    const { pass } = await instance();
    await pass(0);
    for (const more of [0, 1]) {
      // These submissions begin to expire after the end of the last check.
      const status_since_ms = (await lookedUntil()) + 1;
      await keep(
        storage,
        ...Array.from({ length: 1 + more }, () => submission({ status: 'undelivered', status_since_ms })),
      );
      await pass(2 * HOUR);
    }
    const texts = (await parsed(server)).map(({ text }) => text?.split(' submission')[0]);
    expect(texts).toEqual(['1 undelivered', '2 undelivered']);
  });

  test('alerts about a submission that a later attempt ends undelivered, and not about one that waits', async () => {
    const { alerts, pass } = await instance();
    const outcome = { kind: 'rejected', status: 422 } as const;
    alerts.attemptCompleted({ by: 'redelivery', outcome, next: { kind: 'waiting', step: 1, delayMs: 0 } });
    await pass(0);
    expect(await subjects()).toEqual([]);
    alerts.attemptCompleted({ by: 'redelivery', outcome, next: { kind: 'undelivered', reason: 'rejected' } });
    await pass(0);
    expect((await parsed(server)).map(({ text }) => text?.slice(0, 23))).toEqual(['1 submission could not ']);
  });

  test('repeats the write of alerts that the store refused, at the latest when it closes', async () => {
    let refuses = false;
    const refusing: Storage = {
      ...storage,
      write: async (change) => {
        if (refuses) throw new StorageUnavailable('refused');
        return await storage.write(change);
      },
    };
    const { alerts, lines, pass } = await instance({}, refusing);
    // The first check of a process also looks for content that expires, and stops there without the store.
    await alerts.run();
    refuses = true;
    alerts.raise('given_up');
    await alerts.run();
    alerts.raise('given_up');
    await alerts.run();
    const refused = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'alerts could not be written');
    expect(refused).toMatchObject([{ level: 'error', reason: expect.any(String) }]);
    refuses = false;
    clock.advance(5_000);
    await alerts.close();
    await pass(0);
    expect((await parsed(server)).map(({ text }) => text?.slice(0, 24))).toEqual(['2 submissions could not ']);
  });

  test('sends one alert for two faults of a kind that has no row in mail_hours', async () => {
    const { alerts, pass } = await instance();
    await storage.write((tx) => tx.deleteFrom('mail_hours').where('kind', '=', 'reported').execute());
    alerts.raise('reported');
    await pass(0);
    alerts.raise('reported');
    await pass(MINUTE);
    expect(await subjects()).toEqual(['People reported an agent']);
  });

  test('queues no message if ALERT_EMAIL is not set', async () => {
    const { alerts, pass } = await instance({ environment: { ALERT_EMAIL: '' } });
    alerts.raise('upstream');
    alerts.raise('given_up');
    storeWasAway(alerts);
    alerts.raise('dead_message');
    await pass(0);
    expect(await messages()).toEqual([]);
  });
});
