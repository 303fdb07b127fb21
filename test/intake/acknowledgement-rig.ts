/** Shared by the tests of acknowledgements: services with an upstream, a mail server and a clock. */
import PostalMime from 'postal-mime';
import { openRedelivery } from '../../src/submissions/redelivery.ts';
import { type MailServer, startMailServer } from '../mail/mail-server.ts';
import { empty } from '../notices/operator-mail.ts';
import { steppedClock } from '../support/clock.ts';
import type { TestDatabase } from '../support/databases.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { answering, startUpstream } from '../support/upstream.ts';

export type AcknowledgementRig = Awaited<ReturnType<typeof openRig>>;

export async function openRig(database: TestDatabase) {
  let refuses = false;
  const upstream = await startUpstream();
  const mail: MailServer = await startMailServer({
    recipient: () => (refuses ? { code: 451, text: '4.7.1 later' } : undefined),
  });
  const clock = steppedClock();
  const instance = (environment: Record<string, string> = {}) =>
    startService({
      clock,
      environment: {
        DATABASE_URL: database.url,
        UPSTREAM_URL: upstream.url,
        SMTP_URL: mail.url,
        MAIL_PER_MINUTE: '1000',
        OPERATOR_CONTACT: 'hello@paint.example',
        ACKNOWLEDGE: 'on',
        ...environment,
      },
    });
  const service = await instance();
  const { storage, submissions } = service.parts;

  /** Waits until the outcome of every attempt is written. A success is answered earlier. */
  const settled = () =>
    until(async () => {
      const sending = await storage.read((db) =>
        db.selectFrom('submissions').select('id').where('status', '=', 'sending').where('lease_ms', 'is not', null),
      );
      return sending.length === 0;
    });

  /** Runs the outbox, and returns the parsed messages since the beginning of the test. */
  const mails = async (of: Service = service) => {
    await of.parts.outbox?.work();
    // The clock may have started another worker, whose sends have not ended.
    await until(async () => (await of.parts.outbox?.depth())?.pending === 0);
    return await Promise.all(mail.received.map(({ raw }) => PostalMime.parse(raw)));
  };

  return {
    clock,
    upstream,
    mail,
    service,
    instance,
    settled,
    mails,
    rows: () =>
      storage.read((db) => db.selectFrom('messages').selectAll().where('kind', '=', 'acknowledgement').orderBy('key')),

    /** Advances the clock until the request is answered, and waits until its outcome is written. */
    async answered<T>(answer: Promise<T>): Promise<T> {
      let isOver = false;
      void answer.finally(() => {
        isOver = true;
      });
      await until(() => {
        clock.advance(isOver ? 0 : 20);
        return isOver;
      });
      await settled();
      return await answer;
    },

    /** Runs something while the mail server refuses messages temporarily, and then the outbox. */
    async refusing(run: () => Promise<unknown>): Promise<void> {
      refuses = true;
      await run();
      await service.parts.outbox?.work();
      refuses = false;
    },

    /** Runs the outbox after a delay. PostgreSQL measures the time since the last attempt by its own clock. */
    async mailsLater(of: Service = service) {
      clock.advance(60_000);
      await storage.write((tx) => tx.updateTable('messages').set({ attempt_started_ms: null }).execute());
      return await mails(of);
    },

    /** Makes a submission due, and runs redelivery. */
    async resend(id: string): Promise<void> {
      const due = { status: 'waiting', step: 0, next_attempt_ms: 0 } as const;
      await storage.write((tx) => tx.updateTable('submissions').set(due).where('id', '=', id).execute());
      for (const job of Object.values(openRedelivery(submissions))) await job.run();
      await settled();
    },

    async clear(): Promise<void> {
      upstream.answer = answering(200);
      await service.parts.outbox?.work();
      await empty(storage);
      mail.received.splice(0);
    },

    async end(): Promise<void> {
      await service.close();
      await Promise.all([upstream.close(), mail.close()]);
      await database.remove();
    },
  };
}
