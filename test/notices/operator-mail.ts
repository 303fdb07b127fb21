/** What the tests of notices and alerts have in common: an instance over a store, and a real mail server. */
import { pino } from 'pino';
import PostalMime from 'postal-mime';
import { openOutbox } from '../../src/mail/outbox.ts';
import { openSmtpMailer } from '../../src/mail/smtp.ts';
import { type OperatorMailParts, openOperatorMail } from '../../src/notices/open.ts';
import { readSettings } from '../../src/settings/settings.ts';
import type { Storage } from '../../src/storage/database.ts';
import type { SubmissionRow } from '../../src/storage/schema.ts';
import { openExpiring } from '../../src/submissions/expiring.ts';
import { openFind } from '../../src/submissions/find.ts';
import { from, type MailServer } from '../mail/mail-server.ts';
import type { TestClock } from '../support/clock.ts';

export const notifyEmail = 'leads@paint.example';
export const alertEmail = 'faults@paint.example';

/** A disk with room. */
const spacious = async () => ({ freeBytes: 1e12, wholeBytes: 2e12 });

export type InstanceOptions = {
  environment?: Record<string, string>;
  perMinute?: number;
  room?: OperatorMailParts['room'];
};

/** One instance: what it writes is told by `outbox.work()`. */
export async function openInstance(
  storage: Storage,
  clock: TestClock,
  server: Pick<MailServer, 'url'>,
  { environment, perMinute = 1_000, room = spacious }: InstanceOptions = {},
) {
  const read = readSettings({
    BASE_URL: 'https://paint.example',
    OPERATOR_NAME: 'Paint Match',
    NOTIFY_EMAIL: notifyEmail,
    ALERT_EMAIL: alertEmail,
    ...environment,
  });
  if (read.kind === 'invalid') throw new Error(read.faults.join());
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line: string) => lines.push(line) });
  const parts = { storage, clock, newId: () => crypto.randomUUID(), log };
  const mail = openOperatorMail(read.settings, {
    ...parts,
    find: openFind(storage),
    expiring: openExpiring(storage),
    room,
  });
  const { notices, alerts, render } = mail;
  const mailer = await openSmtpMailer({ url: server.url, from, clock });
  const outbox = openOutbox({
    ...parts,
    // What subscribers are told is known to `newsletter/`.
    render: async (row) =>
      row.kind === 'confirmation' && row.address !== null
        ? { subject: 'Subject', text: 'Text', address: row.address }
        : await render(row),
    ...{ mailer, perMinute, prepare: notices.place, onDead: alerts.messageDied },
    hostname: 'paint.example',
  });
  /** As the commit does that ends a first attempt. */
  const tell = (row: Pick<SubmissionRow, 'id' | 'form' | 'origin'>) =>
    storage.write(async (tx) => {
      for (const change of notices.of(row)) await tx.change(change);
    });
  return { ...mail, outbox, tell, lines };
}

let count = 0;

/** A row of a contact by a browser, delivered. */
export function submission(more: Partial<SubmissionRow> = {}, data: object = {}): SubmissionRow {
  count += 1;
  const id = more.id ?? `s-${count}`;
  const fields = {
    name: 'Ada Canary',
    email: 'ada@canary.example',
    subject: 'Subject of canary',
    message: 'First line\nSecond line',
  };
  const event = {
    type: 'lead.created',
    data: { id, form: 'contact', fields, recipient: null, client: null, ...data },
  };
  return {
    id,
    form: 'contact',
    origin: 'browser',
    email: 'ada@canary.example',
    telephone: null,
    subscriber: null,
    subscriber_id: null,
    received_ms: Date.parse('2026-09-01T11:59:00.000Z'),
    event: JSON.stringify(event),
    disclosures: null,
    fields_digest: null,
    status: 'delivered',
    status_since_ms: 0,
    reason: null,
    stored_here: 0,
    attempts: '',
    attempt_number: 1,
    attempt_by: 'first',
    resumed_status: null,
    lease_started_ms: null,
    lease_ms: null,
    step: null,
    next_attempt_ms: null,
    resend_asked_ms: null,
    ...more,
  };
}

/** Keeps rows of submissions. */
export async function keep(storage: Storage, ...rows: SubmissionRow[]): Promise<void> {
  await storage.write((tx) => tx.insertInto('submissions').values(rows).execute());
}

/** What the server took, parsed. */
export const parsed = (server: MailServer) =>
  Promise.all(server.received.map(({ raw }) => PostalMime.parse(raw)));

/** Takes away what another test has left. */
export async function empty(storage: Storage): Promise<void> {
  await storage.write(async (tx) => {
    await tx.deleteFrom('messages').execute();
    await tx.deleteFrom('submissions').execute();
    const fresh = { began_at: null, sent: 0, counted: '{}', lasts: 0, alert_key: null } as const;
    await tx
      .updateTable('mail_hours')
      .set({ ...fresh, looked_until_ms: null })
      .execute();
  });
}
