/** Shared by the tests of the outbox: a store on the test's clock, and a mailer with given answers. */
import { type CompiledQuery, sql } from 'kysely';
import type { Mailer, Message, SendResult } from '../../src/mail/mail.ts';
import type { Render } from '../../src/mail/messages.ts';
import type { Storage } from '../../src/storage/database.ts';
import type { TestClock } from '../support/clock.ts';

/**
 * Makes PostgreSQL measure leases by the test's clock, as SQLite does. It replaces the clock only in prepared
 * statements. `dialect.wallClock` stays the clock of PostgreSQL, because unprepared statements read it too. A time
 * that the database writes, such as `received_ms`, therefore ignores `advance`. On SQLite it follows the test's clock.
 */
export function withClock(opened: Storage, clock: TestClock): Storage {
  if (opened.kind === 'sqlite') return opened;
  // A statement is built once. This placeholder is replaced by the time at which it runs.
  const now = -7_777_777;
  const atNow = <R>(query: CompiledQuery<R>): CompiledQuery<R> => ({
    ...query,
    parameters: query.parameters.map((value) => (value === now ? clock.monotonic() : value)),
  });
  return {
    ...opened,
    dialect: { ...opened.dialect, leaseClock: sql<number>`${now}::double precision` },
    read: (query) => opened.read('read' in query ? { read: atNow(query.read) } : query),
    write: (change) => opened.write('change' in change ? { change: atNow(change.change) } : change),
  };
}

/** Renders every confirmation with the same text. */
export const render: Render = async ({ address }) =>
  address === null ? undefined : { subject: 'Subject', text: 'Text', address };

export const sent: SendResult = { kind: 'sent' };
export const later: SendResult = { kind: 'refused', permanent: false, reason: '451' };
export const never: SendResult = { kind: 'refused', permanent: true, reason: '550' };

/** Returns a mailer with the answers of `answer`, and the list of messages that it got. */
export function mailerThat(answer: (message: Message) => SendResult | Promise<SendResult>) {
  const given: Message[] = [];
  const mailer: Mailer = {
    send: async (message) => {
      given.push(message);
      return await answer(message);
    },
    close: async () => {},
  };
  return { mailer, given };
}
