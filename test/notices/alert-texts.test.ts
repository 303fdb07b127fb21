/** Texts of alerts and all-clears: what happened, whether anything is lost, what to do (reference §11.6). */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type AlertKind, alertKinds, UNSTORED } from '../../src/notices/alert-kinds.ts';
import type { Storage } from '../../src/storage/database.ts';
import type { SubmissionRow } from '../../src/storage/schema.ts';
import { type MailServer, startMailServer } from '../mail/mail-server.ts';
import { withClock } from '../mail/outbox-parts.ts';
import { type Rig, startRig } from '../submissions/rig.ts';
import { databases } from '../support/databases.ts';
import { answering } from '../support/upstream.ts';
import { empty, type InstanceOptions, keep, openInstance, parsed, submission } from './operator-mail.ts';

const MINUTE = 60_000;
const consoleOff = { OPERATOR_CONSOLE: 'off' };
const AT = '2026-09-01T12:00:00.000Z';
const DUE = '2026-09-01T12:05:00.000Z';

/** Returns the columns of a row with one ended attempt. */
function attempted(attempt: object, more: Partial<SubmissionRow> = {}): SubmissionRow {
  const attempts = `${JSON.stringify({ at: AT, ms: 20, outcome: 'unconfirmed', by: 'first', http_status: null, ...attempt })}\n`;
  return submission({ status: 'waiting', next_attempt_ms: Date.parse(DUE), attempts, ...more });
}

describe.each(databases)('texts of alerts, on %s', (_name, create) => {
  let rig: Rig;
  let storage: Storage;
  let server: MailServer;
  beforeAll(async () => {
    rig = await startRig(await create());
    storage = withClock(rig.storage, rig.clock);
  });
  beforeEach(async () => {
    server = await startMailServer();
    await empty(storage);
  });
  afterEach(async () => {
    await server.close();
    await rig.clear();
  });
  afterAll(() => rig.end());

  async function instance(options: InstanceOptions = {}) {
    const environment = { OPERATOR_TIME_ZONE: 'UTC', ...options.environment };
    const opened = await openInstance(storage, rig.clock, server, { ...options, environment });
    /** Runs one check and one pass of the outbox. Returns the last message. */
    const sent = async () => {
      await opened.alerts.run();
      await opened.outbox.work();
      const { subject, text = '' } = (await parsed(server)).at(-1) ?? expect.fail();
      return { subject, text: text.trimEnd(), paragraphs: text.trimEnd().split('\n\n') };
    };
    return { ...opened, sent };
  }
  async function about(kind: AlertKind, rows: SubmissionRow[] = [], options: InstanceOptions = {}) {
    const { alerts, sent } = await instance(options);
    if (rows.length > 0) await keep(storage, ...rows);
    alerts.raise(kind);
    return await sent();
  }

  test('the alert about a failing receiver has cause and next attempt, and the all-clear has counts', async () => {
    const { alerts, sent } = await instance();
    const { submissions, redelivery } = rig.instance({ onCompleted: alerts.attemptCompleted });
    rig.receiver.answer = answering(500);
    for (let person = 0; person < 3; person += 1) await rig.send(undefined, submissions);
    const due = (await rig.rows()).map(({ next_attempt_ms: ms }) => ms ?? 0);
    const shown = (at: number) =>
      new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' }).format(at);
    const alert = await sent();
    expect(alert.subject).toBe('Leads do not reach the receiver');
    expect(alert.text).toBe(`3 submissions from browsers were not confirmed by the receiver at their first attempts.

Nothing is lost. Every submission is stored.

3 wait for another attempt. The next attempt is due on ${shown(Math.min(...due))} UTC.

Cause: the receiver did not confirm (HTTP status 500). Last attempt: 1 Sept 2026, 12:00 UTC.

To see the waiting submissions:
https://paint.example/operator/leads?status=waiting

To check the service, on its server:
npm run doctor

You get at most one alert of this kind an hour.

Paint Match
https://paint.example`);

    rig.receiver.answer = answering(200);
    await rig.age(2 * MINUTE);
    rig.clock.advance(2 * MINUTE);
    await redelivery.work();
    const end = await sent();
    expect(end.subject).toBe('Resolved: leads reach the receiver again');
    expect(end.text).toBe(`Leads reach the receiver again. 3 were delivered, 0 wait.

To see the state of the service:
https://paint.example/operator

Paint Match
https://paint.example`);
    await redelivery.close();
  });

  test.each([
    [{ http_status: 503 }, 'the receiver did not confirm (HTTP status 503)'],
    [{ http_status: null }, 'the receiver did not answer'],
    [{ outcome: 'rateLimited', http_status: 429 }, 'the receiver asked the service to wait (HTTP status 429)'],
    [{ outcome: 'rejected', http_status: 422 }, 'the receiver rejected the submission (HTTP status 422)'],
    [{ outcome: 'unknown', http_status: null }, 'the service stopped before the receiver answered'],
  ])('the alert names the cause of the newest failed attempt: %j', async (attempt, words) => {
    const older = attempted({ at: '2026-09-01T11:00:00.000Z', http_status: 599 });
    const { text } = await about('upstream', [older, attempted(attempt)]);
    expect(text).toContain(`\n\nCause: ${words}. Last attempt: 1 Sept 2026, 12:00 UTC.\n\n`);
  });

  test('the alert links to the undelivered submissions if no submission waits', async () => {
    const rejected = { status: 'undelivered', reason: 'rejected', next_attempt_ms: null } as const;
    const rows = [attempted({ outcome: 'rejected' }, rejected), attempted({ outcome: 'rejected' }, rejected)];
    const { text } = await about('upstream', rows);
    expect(text).toContain('\n\n2 are undelivered, and not retried until you resend them.\n\n');
    expect(text).toContain('https://paint.example/operator/leads?status=undelivered\n');
  });

  test('the alert says that no submission waits if all were delivered before the alert was sent', async () => {
    const { paragraphs } = await about('upstream', [submission()]);
    expect(paragraphs.slice(1, 4)).toEqual([
      'Nothing is lost. Every submission is stored.',
      'No submission is waiting.',
      'To see the state of the service:\nhttps://paint.example/operator',
    ]);
  });

  test('the alert says how many submissions could not be stored', async () => {
    const { alerts, sent } = await instance();
    const outcome = { kind: 'unconfirmed', sent: true, reason: 'x' } as const;
    const next = { kind: 'undelivered', reason: 'sent_unkept' } as const;
    alerts.attemptCompleted({ by: 'first', outcome, next, unstored: true });
    alerts.attemptCompleted({ by: 'first', outcome, next });
    await sent();
    const messages = await storage.read((db) => db.selectFrom('messages').select('about').where('kind', '=', 'alert'));
    const events = messages.map((row) => JSON.parse(row.about ?? ''));
    expect(events.find(({ kind }) => kind === 'upstream').counted).toEqual({ [UNSTORED]: 1, '': 1 });
    const texts = (await parsed(server)).map(({ text }) => text);
    const stored = '1 could not be stored. The person was asked to try again. Every other submission is stored.';
    expect(texts.filter((text) => text?.includes(`\n\n${stored}\n\n`))).toHaveLength(1);
  });

  test('the all-clear counts the submissions delivered since the alert, and the waiting submissions', async () => {
    const { alerts, sent } = await instance();
    const now = rig.clock.now().getTime();
    const delivered = (ms: number, more: Partial<SubmissionRow> = {}) =>
      submission({ status: 'delivered', attempt_number: 2, status_since_ms: now + ms, ...more });
    await keep(
      storage,
      ...[delivered(1_000), delivered(MINUTE, { email: null })],
      // These do not count: an earlier one, one without a wait, and one in the inbox.
      ...[delivered(-1_000), delivered(1_000, { attempt_number: 1 }), delivered(1_000, { stored_here: 1 })],
      attempted({}),
      attempted({}, { next_attempt_ms: Date.parse(DUE) + MINUTE }),
      attempted({}, { status: 'undelivered', next_attempt_ms: null }),
    );
    alerts.raise('upstream');
    await sent();
    alerts.resolve('upstream');
    const { paragraphs } = await sent();
    expect(paragraphs).toEqual([
      'Leads reach the receiver again. 2 were delivered, 2 wait. The next attempt is due on 1 Sept 2026, 12:05 UTC. 1 is undelivered, and not retried until you resend it.',
      'To see the waiting submissions:\nhttps://paint.example/operator/leads?status=waiting',
      'Paint Match\nhttps://paint.example',
    ]);
  });

  test('the alert names the reported agents by label and name, the most reported agent first', async () => {
    const labelOf = (client: string) => (client === 'acme' ? 'Acme Assistant' : client);
    const { alerts, sent } = await instance({ labelOf });
    for (const client of ['beta', 'acme', 'acme', 'constructor', '__proto__']) alerts.raise('reported', client);
    const first = await sent();
    expect(first.subject).toBe('People reported an agent');
    expect(first.paragraphs).toEqual([
      '5 people reported requests of agents as unwanted.',
      'Nothing was sent. The service refuses further requests of a reported agent for the person who reported it.',
      'Reports by agent:\nAcme Assistant (acme): 2\nbeta: 1\nconstructor: 1\n__proto__: 1',
      'To see the requests:\nhttps://paint.example/operator/confirmations',
      'To block an agent, revoke its credential on the server:\nnpm run credentials -- revoke NAME',
      'You get at most one alert of this kind an hour.',
      'Paint Match\nhttps://paint.example',
    ]);
    alerts.raise('reported', 'beta');
    rig.clock.advance(60 * MINUTE);
    const { paragraphs } = await sent();
    expect(paragraphs[0]).toMatch(/^1 person reported/);
    expect(paragraphs[2]).toBe('Reports by agent:\nbeta: 1');
  });

  test.each(alertKinds)(
    'the alert %s links to a page of the console, or names only commands if the console is off',
    async (kind) => {
      const { text } = await about(kind, [attempted({})]);
      expect(text).toMatch(/\nhttps:\/\/paint\.example\/operator(?:\/\w+(?:\?status=\w+)?)?\n/);
      expect(text).not.toContain('npm run inbox');
      await empty(storage);
      const plain = await about(kind, [attempted({})], { environment: consoleOff });
      expect(plain.text).toMatch(/\n(?:npm run|df) /);
      expect(plain.text).not.toContain('/operator');
      for (const { text: each } of [{ text }, plain]) {
        expect(each).not.toMatch(/canary/i);
        expect(each).toMatch(/lost|Nothing was sent/);
      }
    },
  );

  test.each(['upstream', 'store', 'disk'] as const)(
    'the subject of the all-clear for %s begins with "Resolved:"',
    async (kind) => {
      for (const environment of [{}, consoleOff]) {
        await empty(storage);
        const { alerts, sent } = await instance({ environment });
        alerts.raise(kind);
        await sent();
        alerts.resolve(kind);
        const { subject, text } = await sent();
        expect(subject).toMatch(/^Resolved: (?:leads|the) /);
        expect(text.includes('https://paint.example/operator')).toBe(environment !== consoleOff);
      }
    },
  );
});
