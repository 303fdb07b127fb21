/** What the tests of the outbox have in common: a store on the test's clock, and a mailer that answers as it is told. */
import { type CompiledQuery, sql } from 'kysely';
import type { Mailer, Message, SendResult } from '../../src/mail/mail.ts';
import type { Render } from '../../src/mail/messages.ts';
import type { Storage } from '../../src/storage/database.ts';
import type { TestClock } from '../support/clock.ts';

/** PostgreSQL measures leases by its own clock: here it stands until the test moves it, as SQLite's does. */
export function withClock(opened: Storage, clock: TestClock): Storage {
  if (opened.kind === 'sqlite') return opened;
  // A statement is built once: this stands in it for whatever time it is when it runs.
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

/** What every confirmation says here. */
export const render: Render = async ({ address }) =>
  address === null ? undefined : { subject: 'Subject', text: 'Text', address };

export const sent: SendResult = { kind: 'sent' };
export const later: SendResult = { kind: 'refused', permanent: false, reason: '451' };
export const never: SendResult = { kind: 'refused', permanent: true, reason: '550' };

/** Answers what `answer` says; remembers every message it was given. */
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
