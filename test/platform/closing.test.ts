import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { startMailServer } from '../mail/mail-server.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { post } from '../support/forms.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const subscription = { email: 'ada@example.com', privacy: 'on' };

/** Returns a clock without automatic timers. `fallDue` fires all timers up to that delay. */
function dueWhenTold() {
  let waiting: { ms: number; callback: () => void }[] = [];
  const clock: Clock = {
    ...systemClock,
    after: (ms, callback) => {
      const one = { ms, callback };
      waiting.push(one);
      return () => {
        waiting = waiting.filter((each) => each !== one);
      };
    },
  };
  const fallDue = (withinMs: number) => {
    const due = waiting.filter(({ ms }) => ms <= withinMs);
    waiting = waiting.filter(({ ms }) => ms > withinMs);
    for (const { callback } of due) callback();
  };
  return { clock, fallDue };
}

describe.each(databases)('close on %s', (_name, create) => {
  let database: TestDatabase;
  let environment: Record<string, string>;
  beforeAll(async () => {
    database = await create();
    environment = { DATABASE_URL: database.url };
  });
  afterAll(() => database.remove());

  test.each([
    ['deferred startup work', 500],
    ['the settling of expired claims or a more frequent job', 5_000],
    ['any periodic job', 60_000],
  ])('logs no fault if %s is due at the same time', async (_begins, withinMs) => {
    const { clock, fallDue } = dueWhenTold();
    const service = await startService({ clock, environment });
    fallDue(withinMs);
    await service.close();
    expect(service.logs.filter((line) => JSON.parse(line).level !== 'info')).toEqual([]);
  });

  test('marks a message as sent that the mail server accepts during the close', async () => {
    let decide = () => {};
    const decided = new Promise<void>((resolve) => {
      decide = resolve;
    });
    let thinking = false;
    const mailServer = await startMailServer({
      thinks: () => {
        thinking = true;
        return decided;
      },
    });
    const mail = { ...environment, SMTP_URL: mailServer.url };
    const service = await startService({ environment: mail });
    await post(service, '/api/subscribe', 'json', subscription);
    await until(() => thinking);

    const closed = service.close();
    // Time for closing everything that does not wait for the mail server.
    await sleep(300);
    decide();
    await closed;
    expect(mailServer.received).toHaveLength(1);

    const { clock, fallDue } = dueWhenTold();
    const restarted = await startService({ clock, environment: mail });
    expect(await restarted.parts.outbox?.depth()).toEqual({ pending: 0, dead: 0 });
    fallDue(60_000);
    await restarted.close();
    expect(mailServer.received).toHaveLength(1);
    await mailServer.close();
  });
});
