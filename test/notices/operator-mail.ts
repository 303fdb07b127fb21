/** Shared by the tests of notices and alerts: an instance with a store, and a real mail server. */
import PostalMime from 'postal-mime';
import { openOutbox } from '../../src/mail/outbox.ts';
import { openSmtpMailer } from '../../src/mail/smtp.ts';
import { openOperatorMail } from '../../src/notices/operator-mail.ts';
import type { DiskSpace } from '../../src/notices/probes.ts';
import { openLog } from '../../src/platform/log.ts';
import { readSettings } from '../../src/settings/settings.ts';
import type { Storage } from '../../src/storage/database.ts';
import type { SubmissionRow } from '../../src/storage/schema.ts';
import type { Event } from '../../src/upstream/upstream.ts';
import { baseUrl, from, type MailServer } from '../mail/mail-server.ts';
import type { TestClock } from '../support/clock.ts';

export const notifyEmail = 'leads@paint.example';
export const alertEmail = 'faults@paint.example';

const spacious = async () => ({ freeBytes: 1e12, wholeBytes: 2e12 });

export type InstanceOptions = {
  environment?: Record<string, string>;
  perMinute?: number;
  diskSpace?: () => Promise<DiskSpace>;
  labelOf?: (client: string) => string;
};

/** Opens an instance. `outbox.work()` sends the messages that it writes. */
export async function openInstance(
  storage: Storage,
  clock: TestClock,
  server: Pick<MailServer, 'url'>,
  { environment, perMinute = 1_000, diskSpace = spacious, labelOf }: InstanceOptions = {},
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
  const log = openLog('info', (line) => lines.push(line));
  const parts = { storage, clock, newId: () => crypto.randomUUID(), log };
  const mail = openOperatorMail(read.settings, {
    ...parts,
    diskSpace,
    ...(labelOf && { labelOf }),
  });
  const { notices, alerts, render } = mail;
  const mailer = await openSmtpMailer({ url: server.url, baseUrl, from, clock });
  const outbox = openOutbox({
    ...parts,
    // The real text of confirmations comes from `newsletter/`.
    render: async (row) =>
      row.kind === 'confirmation' && row.address !== null
        ? { subject: 'Subject', text: 'Text', address: row.address }
        : await render(row),
    ...{ mailer, perMinute, prepare: notices.throttle },
    onFailed: (kind) => kind === 'alert' || alerts.raise('dead_message'),
    hostname: 'paint.example',
  });
  /** Writes the notice, as the commit at the end of a first attempt does. */
  const tell = (row: Pick<SubmissionRow, 'id' | 'form' | 'origin'>) =>
    storage.write(async (tx) => {
      for (const change of notices.of(row)) await tx.change(change);
    });
  return { ...mail, outbox, tell, lines };
}

let count = 0;

/** Returns the row of a delivered contact message from a browser. */
export function submission(more: Partial<SubmissionRow> = {}, data: Partial<Event['data']> = {}): SubmissionRow {
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
    client: data.client ?? null,
    progress: 'new',
    note: null,
    email: 'ada@canary.example',
    search_text: null,
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

/** Stores rows of submissions. */
export async function keep(storage: Storage, ...rows: SubmissionRow[]): Promise<void> {
  await storage.write((tx) => tx.insertInto('submissions').values(rows).execute());
}

/** Returns the accepted messages, parsed. */
export const parsed = (server: MailServer) => Promise.all(server.received.map(({ raw }) => PostalMime.parse(raw)));

/** Deletes the rows of earlier tests. */
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
