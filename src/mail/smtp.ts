/** The mailer for `SMTP_URL`, with pooled connections (reference §11.3). */
import { isIP } from 'node:net';
import { type Clock, systemClock } from '../platform/clock.ts';
import { parseSender, type Sender } from '../settings/groups.ts';
import type { Settings } from '../settings/settings.ts';
import { openFilesMailer } from './files.ts';
import { CONCURRENT_SENDS, type Mailer, openSend } from './mail.ts';

export type SmtpTimeouts = {
  /** Time limit for the server's greeting, and for TLS if it offers TLS. */
  connectionMs: number;
  /** Time limit for each silence of the server. */
  socketMs: number;
  /** Time limit for a whole message, because a server that sends its replies byte by byte is never silent. */
  sendMs: number;
};

/** All timeouts are shorter than the outbox's first retry delay of a minute, so a message is never under way twice. */
const DEFAULT_TIMEOUTS: SmtpTimeouts = { connectionMs: 20_000, socketMs: 30_000, sendMs: 45_000 };

/** Idle time after which a connection is closed. A server may drop a connection that is idle for longer without notice. */
const IDLE_TIMEOUT_MS = 5_000;

/** Allowed options in the query of `SMTP_URL`. Other options could turn on nodemailer's logs, for example. */
const QUERY_OPTION = /^(?:name|requireTLS|ignoreTLS|authMethod|tls\..*)$/s;

type SmtpMailerOptions = {
  /** Public address of the site. The address's host is the name in the greeting (`EHLO`). */
  baseUrl: string;
  /** `smtp://user:password@host:port`, or `smtps://…`. */
  url: string;
  from: Sender;
  clock: Clock;
  timeouts?: SmtpTimeouts;
};

/**
 * Opens the mailer of the settings. Returns undefined if no mail is configured. The sender has the operator's name,
 * unless `MAIL_FROM` has a name.
 */
export async function openMailer(settings: Settings, clock: Clock = systemClock): Promise<Mailer | undefined> {
  const { mail, baseUrl, operator } = settings;
  if (mail.kind === 'none') return undefined;
  const { name, address } = parseSender(mail.from);
  const from = { name: name || operator.name, address };
  if (mail.kind === 'files') return openFilesMailer({ folder: mail.folder, from, clock });
  return await openSmtpMailer({ url: mail.url, baseUrl, from, clock });
}

/** Opens the mailer, which connects for the first message. The mailer uses STARTTLS if the server offers it. */
export async function openSmtpMailer(options: SmtpMailerOptions): Promise<Mailer> {
  const { timeouts = DEFAULT_TIMEOUTS } = options;
  const { createTransport } = await import('nodemailer');
  const transport = createTransport({
    pool: true,
    url: smtpAddress(options.url, options.baseUrl),
    maxConnections: CONCURRENT_SENDS,
    // One send is one attempt. The outbox counts and repeats attempts.
    maxRequeues: 0,
    idleTimeout: IDLE_TIMEOUT_MS,
    connectionTimeout: timeouts.connectionMs,
    dnsTimeout: timeouts.connectionMs,
    greetingTimeout: timeouts.connectionMs,
    socketTimeout: timeouts.socketMs,
    socketCloseTimeout: 0,
    logger: false,
  });
  const closing = new AbortController();
  return {
    send: openSend(options, async (mail) => {
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(timeouts.sendMs)]);
      await transport.sendMail({ ...mail, signal });
    }),
    async close() {
      closing.abort();
      transport.close();
    },
  };
}

/**
 * Returns `SMTP_URL` with only the allowed options. Many servers refuse the greeting `[127.0.0.1]` of a container, so
 * the greeting has the site's host, unless `?name=` has another name (reference §11.3).
 */
export function smtpAddress(text: string, baseUrl: string): string {
  const url = new URL(text);
  for (const name of [...url.searchParams.keys()]) {
    if (!QUERY_OPTION.test(name)) url.searchParams.delete(name);
  }
  if (!url.searchParams.get('name')) url.searchParams.set('name', greetingName(baseUrl));
  return url.href;
}

/** Returns the host of the site. An IP address gets brackets (RFC 5321 §4.1.3). */
function greetingName(baseUrl: string): string {
  const { hostname } = new URL(baseUrl);
  if (hostname.startsWith('[')) return hostname.replace('[', '[IPv6:');
  return isIP(hostname) === 0 ? hostname : `[${hostname}]`;
}
