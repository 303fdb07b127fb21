/** The doctor's checks of the mail server, with the usual cause of a failure (reference §13.3). */
import { accessSync, constants, mkdirSync } from 'node:fs';
import type { NodemailerError } from 'nodemailer';
import { reasonOf } from '../../mail/mail.ts';
import { openMailer, smtpAddress } from '../../mail/smtp.ts';
import { confirmationMail } from '../../newsletter/confirmation-mail.ts';
import { TOKEN_BYTES } from '../../newsletter/subscribers.ts';
import { newId, randomSecret } from '../../platform/random.ts';
import { routes } from '../../routes.ts';
import { parseSender } from '../../settings/groups.ts';
import { openSite } from '../../site/site.ts';
import { causeOfError, tlsMismatch } from './causes.ts';
import { type Check, type Diagnosis, failed, failureOf, off, ok } from './check.ts';
import { folderRemedy } from './local-checks.ts';
import { portOf, speaksTls, waitsForClient } from './probes.ts';
import { site } from './site-checks.ts';

const SMTP_TIMEOUT_MS = 10_000;

const MAIL_SERVER = { setting: 'SMTP_URL', withTls: 'smtps://', withoutTls: 'smtp://' };
const MAIL_REMEDY = 'Check SMTP_URL: scheme, host, port, user and password.';

/** Cause and remedy for each error code of the mail library. */
const SMTP_CAUSES: Readonly<Record<string, Diagnosis>> = {
  EAUTH: {
    says: 'The server refuses this user or password.',
    remedy:
      'Correct user and password in SMTP_URL, and write / # ? % as %2F %23 %3F %25. Some services need a separate password for programs.',
  },
  ETLS: {
    says: 'The server offers no usable TLS.',
    remedy: 'Remove requireTLS from SMTP_URL, or turn TLS on at the server.',
  },
  EPROTOCOL: {
    says: 'This is not a mail server, or the server refuses the greeting.',
    remedy: 'Correct the port in SMTP_URL, or append ?name= with a host name that the server accepts.',
  },
};

/** Status of a server that accepts messages only after a sign-in (RFC 4954). */
const SIGN_IN_REQUIRED = /^530\b/;

/** Signs in to the mail server, or checks the folder that replaces it in local mode. */
export const mailServer: Check = {
  check: 'mail',
  remedy: (settings) => (settings.mail.kind === 'files' ? folderRemedy(settings) : MAIL_REMEDY),
  async run({ settings: { mail, baseUrl } }) {
    if (mail.kind === 'none') {
      return off(`${routes.subscribeNewsletter.path} answers 503.`, 'Set SMTP_URL and MAIL_FROM.');
    }
    if (mail.kind === 'files') {
      mkdirSync(mail.folder, { recursive: true, mode: 0o700 });
      accessSync(mail.folder, constants.W_OK);
      return ok(`Messages are written to ${mail.folder}, not sent.`);
    }
    const cause = await causeOfMail(baseUrl, mail.url);
    return cause === undefined ? ok('The mail server accepts the connection.') : failed(cause.says, cause.remedy);
  },
};

/** Returns the usual cause of a failed sign-in, or undefined if it succeeds. */
async function causeOfMail(baseUrl: string, url: string): Promise<Diagnosis | undefined> {
  const usesTls = /^smtps:/i.test(url);
  const port = portOf(url, usesTls ? 465 : 587);
  // Without TLS, the server and the client would wait for each other until a time-out.
  if (!usesTls && (await waitsForClient(port)) && (await speaksTls(port))) return tlsMismatch(MAIL_SERVER, true);
  const { createTransport } = await import('nodemailer');
  const transport = createTransport({
    url: smtpAddress(url, baseUrl),
    connectionTimeout: SMTP_TIMEOUT_MS,
    greetingTimeout: SMTP_TIMEOUT_MS,
    socketTimeout: SMTP_TIMEOUT_MS,
    logger: false,
  });
  try {
    await transport.verify();
    return undefined;
  } catch (error) {
    const { originalCode, code, responseCode } = error as NodemailerError;
    const reason = responseCode ?? originalCode ?? reasonOf(error as NodemailerError);
    const cause = causeOfError(originalCode ?? code, MAIL_SERVER) ?? SMTP_CAUSES[code ?? ''];
    const { says, remedy } = cause ?? { says: 'The server refuses the connection.', remedy: MAIL_REMEDY };
    return { says: `Mail server error ${reason}. ${says}`, remedy };
  } finally {
    transport.close();
  }
}

/** The checks of what a message needs: its words and a way to send it. */
const NEEDED = [site.check, mailServer.check];

/** Sends the message that a subscriber gets to `--mail-to`, or to the sender. The message's links are random. */
export const testMessage: Check = {
  check: 'test message',
  remedy: 'Check SMTP_URL and MAIL_FROM. The account must be allowed to send from that address.',
  async run({ settings, clock, mailTo, findings }) {
    const missing = failureOf(NEEDED, findings);
    if (missing !== undefined) return off(`Not tested, because the check of ${missing.check} failed.`);
    const mailer = await openMailer(settings, clock);
    if (mailer === undefined || settings.mail.kind === 'none') return off('No mail is configured.');
    try {
      const address = mailTo ?? parseSender(settings.mail.from).address;
      const messageId = `<${newId()}@${new URL(settings.baseUrl).hostname}>`;
      const token = () => randomSecret(TOKEN_BYTES).toString('base64url');
      const opened = await openSite(settings);
      const words = () => opened.frame().words.newsletter;
      const letter = confirmationMail({ ...settings, words }, { confirm_token: token(), leave_token: token() });
      const result = await mailer.send({ ...letter, address, messageId });
      if (result.kind === 'refused') {
        const says = `The mail server refused the message (${result.reason}).`;
        if (!SIGN_IN_REQUIRED.test(result.reason)) return failed(says);
        return failed(
          `${says} It requires a sign-in.`,
          'Add a user and a password: SMTP_URL=smtp://user:password@host',
        );
      }
      const where = settings.mail.kind === 'files' ? 'written to a file' : 'accepted by the mail server';
      return ok(`The test message was ${where}.`);
    } finally {
      await mailer.close();
    }
  },
};
