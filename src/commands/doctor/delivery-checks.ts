/** The doctor's checks of what is elsewhere: the upstream and the mail server. */

import { accessSync, constants, mkdirSync } from 'node:fs';
import { newId, randomSecret } from '../../chance.ts';
import { type Clock, isoTime } from '../../clock.ts';
import { forms } from '../../forms/catalog.ts';
import { reasonOf } from '../../mail/mail.ts';
import { openMailer } from '../../mail/open.ts';
import { subscriberLetter } from '../../newsletter/letter.ts';
import { TOKEN_BYTES } from '../../newsletter/subscribers.ts';
import { noMetrics } from '../../operations/metrics.ts';
import { routes } from '../../routes.ts';
import { parseSender } from '../../settings/sender.ts';
import type { Settings } from '../../settings/settings.ts';
import { openSite } from '../../site/site.ts';
import { eventOf } from '../../submissions/submission.ts';
import { submit } from '../../submissions/submit.ts';
import { openUpstream } from '../../upstream/open.ts';
import type { Outcome } from '../../upstream/upstream.ts';
import { isDatabaseThere, withStorage } from '../storage.ts';
import { mailDangers, upstreamDangers } from './dangers.ts';
import { type Finding, tryOut, warned } from './finding.ts';

const SMTP_TIMEOUT_MS = 10_000;

/**
 * Sends a test event the way every submission goes; of the embedded inbox it is taken out again. What the
 * upstream's own clock says is told by `heardTime`, in milliseconds.
 */
export function checkUpstream(
  settings: Settings,
  clock: Clock,
  send: boolean,
  heardTime: (time: number) => void,
): Promise<Finding> {
  return tryOut('upstream', 'Check UPSTREAM_URL and the database.', async () => {
    const { upstream: configured, contractor, operator } = settings;
    if (configured.kind === 'none' || contractor === undefined) {
      return { outcome: 'warning', says: 'Submissions answer 503.', remedy: 'Set UPSTREAM_URL.' };
    }
    const dangers = upstreamDangers(settings);
    if (!send) {
      const found = { outcome: 'off', says: 'Not tried, because of --no-send.' } as const;
      return settings.mode === 'production' ? warned(found, dangers) : found;
    }
    const id = newId();
    const upstream = await openUpstream(settings, clock);
    if (upstream === undefined) throw new Error('UPSTREAM_URL');
    if (upstream.embedded) {
      if (!isDatabaseThere(settings.database)) {
        return { outcome: 'ok', says: 'Leads stay in the database, which the first start makes.' };
      }
      // A write of the store is what a delivery is.
      await withStorage(settings, (storage) => storage.check());
      return warned(judge({ kind: 'confirmed', known: false }, id), dangers);
    }
    try {
      const parties = { contractor, operatorName: operator.name };
      const submission = { id, form: forms.contact, fields: testFields, ...fromNobody };
      const sent = eventOf(submission, parties, isoTime(clock.now().getTime()));
      const delivery = { mayStart: () => true, heardTime };
      const { outcome } = await submit(
        { upstream, clock, metrics: noMetrics },
        sent,
        delivery,
        'first',
      );
      return warned(judge(outcome, id), dangers);
    } finally {
      await upstream.close();
    }
  });
}

const testFields = {
  name: 'Doctor',
  email: 'doctor@example.com',
  subject: 'Test event',
  message: 'Sent by `npm run doctor`. Nobody asked anything.',
};
const fromNobody = {
  origin: 'browser',
  client: null,
  consentRecordedAt: null,
  test: true,
} as const;

function judge(outcome: Outcome, id: string): Omit<Finding, 'check'> {
  const remedy = 'Ask whoever runs UPSTREAM_URL what became of it.';
  switch (outcome.kind) {
    case 'confirmed':
      return { outcome: 'ok', says: `Test event ${id} was delivered.` };
    case 'rejected':
      return {
        outcome: 'failed',
        says: `Test event ${id} was answered ${outcome.status}.`,
        remedy,
      };
    case 'rateLimited':
      return { outcome: 'failed', says: `Test event ${id} was answered 429.`, remedy };
    case 'unconfirmed':
      return {
        outcome: 'failed',
        says: `Test event ${id} is not confirmed: ${outcome.reason}`,
        remedy: 'Check UPSTREAM_URL, UPSTREAM_SECRET and UPSTREAM_TIMEOUT_MS.',
      };
  }
}

/** Signs in to the mail server, or looks at the folder that stands for one. */
export function checkMail(settings: Settings): Promise<Finding> {
  const { mail } = settings;
  const remedy = 'Check SMTP_URL: scheme, host, port, user and password.';
  return tryOut('mail', remedy, async () => {
    if (mail.kind === 'none') {
      const hint = 'Set SMTP_URL and MAIL_FROM.';
      return {
        outcome: 'off',
        says: `${routes.subscribeNewsletter.path} answers 503.`,
        remedy: hint,
      };
    }
    if (mail.kind === 'files') {
      mkdirSync(mail.folder, { recursive: true, mode: 0o700 });
      accessSync(mail.folder, constants.W_OK);
      return { outcome: 'ok', says: `Messages are written to ${mail.folder}, not sent.` };
    }
    const { createTransport } = await import('nodemailer');
    const transport = createTransport({
      url: mail.url,
      connectionTimeout: SMTP_TIMEOUT_MS,
      greetingTimeout: SMTP_TIMEOUT_MS,
      socketTimeout: SMTP_TIMEOUT_MS,
    });
    try {
      await transport.verify();
      const found = { outcome: 'ok', says: 'The mail server takes the connection.' } as const;
      return warned(found, mailDangers(settings));
    } catch (error) {
      return { outcome: 'failed', says: `The mail server: ${reasonOf(error)}.`, remedy };
    } finally {
      transport.close();
    }
  });
}

/**
 * Sends the message of a subscription, as a subscriber gets it, to one address or the sender's. Its links are those of
 * nobody.
 */
export function checkMessage(
  settings: Settings,
  clock: Clock,
  chosen: string | undefined,
): Promise<Finding> {
  const remedy = 'Check SMTP_URL and MAIL_FROM: may this account send from that address?';
  return tryOut('test message', remedy, async () => {
    const mailer = await openMailer(settings, clock);
    if (mailer === undefined || settings.mail.kind === 'none') {
      return { outcome: 'off', says: 'No mail is configured.' };
    }
    const address = chosen ?? parseSender(settings.mail.from).address;
    try {
      const messageId = `<${newId()}@${new URL(settings.baseUrl).hostname}>`;
      const token = () => randomSecret(TOKEN_BYTES).toString('base64url');
      const links = { confirm_token: token(), leave_token: token() };
      const words = () => openSite(settings).frame().words.newsletter;
      const letter = subscriberLetter({ ...settings, words }, links);
      const result = await mailer.send({ ...letter, address, messageId });
      if (result.kind === 'refused') {
        return { outcome: 'failed', says: `It was refused (${result.reason}).`, remedy };
      }
      const where = settings.mail.kind === 'files' ? 'written' : 'taken by the mail server';
      return { outcome: 'ok', says: `The confirmation message was ${where}.` };
    } finally {
      await mailer.close();
    }
  });
}
