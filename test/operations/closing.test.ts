import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import { startMailServer } from '../mail/mail-server.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { post } from '../support/forms.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const subscription = { email: 'ada@example.com', privacy: 'on' };

/** A clock on which nothing falls due by itself, but all that is within so many milliseconds at once when told. */
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

describe.each(databases)(
  'what is under way ends before the store is closed: %s',
  (_name, create) => {
    let database: TestDatabase;
    let environment: Record<string, string>;
    beforeAll(async () => {
      database = await create();
      environment = { DATABASE_URL: database.url };
    });
    afterAll(() => database.remove());

    test.each([
      ['what was left for after the start', 500],
      ['the settling of expired claims and what is more frequent', 5_000],
      ['everything periodic', 60_000],
    ])('a stop in the moment in which %s begins logs no fault', async (_begins, withinMs) => {
      const { clock, fallDue } = dueWhenTold();
      const service = await startService({ clock, environment });
      fallDue(withinMs);
      await service.close();
      expect(service.logs.filter((line) => JSON.parse(line).level >= 40)).toEqual([]);
    });

    test('a message that the mail server is still thinking about is marked when it is taken', async () => {
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
      // Time for everything that does not wait for the server to be closed.
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
  },
);
