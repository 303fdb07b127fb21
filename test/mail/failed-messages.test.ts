import { expect, test } from 'vitest';
import { countMessages, latestFailed, resendFailed } from '../../src/mail/failed-messages.ts';
import { openOutbox } from '../../src/mail/outbox.ts';
import { openLog } from '../../src/platform/log.ts';
import { testClock } from '../support/clock.ts';
import { databases } from '../support/databases.ts';
import { mailerThat, never, render, sent, withClock } from './outbox-parts.ts';

test.each(databases)(
  'resendFailed queues a permanently failed message once more under its Message-ID, on %s',
  async (_name, create) => {
    const clock = testClock();
    const database = await create();
    const storage = withClock(await database.open(clock), clock);
    let answer = never;
    const { mailer, given } = mailerThat(() => answer);
    const log = openLog('silent');
    const outbox = openOutbox({ storage, clock, mailer, render, perMinute: 10, log });
    await storage.write(outbox.messageTo('ada@example.com'));
    await outbox.work();
    expect((await countMessages(storage, 'dead')).count).toBe(1);
    const [dead] = await latestFailed(storage, 10);
    if (dead === undefined) return expect.fail();
    expect(dead).toMatchObject({ kind: 'confirmation', address: 'ada@example.com', attempts: 1 });

    const none = { kind: 'notice', key: 'a\0b' };
    expect(await storage.write((tx) => resendFailed(tx, none, clock.now()))).toBe('unknown');
    const resend = () => storage.write((tx) => resendFailed(tx, dead, clock.now()));
    answer = sent;
    expect(await resend()).toBe('resent');
    expect(await resend()).toBe('underWay');
    expect(await countMessages(storage, 'pending')).toEqual({ isMore: false, count: 1 });
    expect(await outbox.work()).toBe(1);
    expect(given.map(({ messageId }) => messageId)).toEqual([dead.message_id, dead.message_id]);
    expect(await resend()).toBe('unknown');
    expect(await latestFailed(storage, 10)).toEqual([]);
    await outbox.close();
    await storage.close();
    await database.remove();
  },
);
