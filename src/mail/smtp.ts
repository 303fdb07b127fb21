/** Messages to a mail server: `SMTP_URL` (contract §2), through pooled connections. */
import type { NodemailerError } from 'nodemailer';
import type { Clock } from '../clock.ts';
import type { Sender } from '../settings/sender.ts';
import {
  addressed,
  CONCURRENT_SENDS,
  type Mailer,
  notAnAddress,
  reasonOf,
  type SendResult,
} from './mail.ts';

export type SmtpTimeouts = {
  /** Up to the server's greeting and, where it is offered, TLS. */
  connectionMs: number;
  /** Of silence, at any point of the conversation. */
  socketMs: number;
  /** For a whole message: a server that trickles its replies is never silent. */
  sendMs: number;
};

/** All within the outbox's first back-off of a minute, so that a message is never under way twice. */
const DEFAULT_TIMEOUTS: SmtpTimeouts = {
  connectionMs: 20_000,
  socketMs: 30_000,
  sendMs: 45_000,
};

/** Connections serve one burst: one that rested may have been dropped by the server unnoticed. */
const IDLE_TIMEOUT_MS = 5_000;

/** What an operator may ask for in the query of `SMTP_URL`; nodemailer's would also turn on its logs. */
const QUERY_OPTIONS = ['name', 'requireTLS', 'ignoreTLS', 'authMethod'];
/** How those of TLS begin. */
const TLS_OPTION = 'tls.';

export type SmtpMailerOptions = {
  /** `smtp://user:password@host:port`, or `smtps://…`. */
  url: string;
  from: Sender;
  clock: Clock;
  timeouts?: SmtpTimeouts;
};

/** Opens the mailer; connects with the first message. STARTTLS is used wherever it is offered. */
export async function openSmtpMailer(options: SmtpMailerOptions): Promise<Mailer> {
  const { from, clock } = options;
  const timeouts = options.timeouts ?? DEFAULT_TIMEOUTS;
  // Loaded only when a setting asks for it: a cold start pays for what it uses.
  const { createTransport } = await import('nodemailer');
  const transport = createTransport({
    pool: true,
    url: withAllowedQuery(options.url),
    maxConnections: CONCURRENT_SENDS,
    // One send is one attempt: those are counted, and repeated, by the outbox.
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
    async send(message) {
      const mail = addressed(from, message, clock.now());
      if (mail === undefined) return notAnAddress;
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(timeouts.sendMs)]);
      try {
        await transport.sendMail({ ...mail, signal });
        return { kind: 'sent' };
      } catch (error) {
        return refusal(error as NodemailerError);
      }
    },
    async close() {
      closing.abort();
      transport.close();
    },
  };
}

function withAllowedQuery(text: string): string {
  const url = new URL(text);
  for (const name of [...url.searchParams.keys()]) {
    const isAllowed = QUERY_OPTIONS.includes(name) || name.startsWith(TLS_OPTION);
    if (!isAllowed) url.searchParams.delete(name);
  }
  return url.href;
}

/**
 * Permanent is what the server says of this recipient or this message alone. A refused sign-in or
 * sender (the same for every message) is the operator's to repair: those messages wait.
 */
function refusal(error: NodemailerError): SendResult {
  const { responseCode, response = '', command } = error;
  if (responseCode === undefined) {
    return { kind: 'refused', permanent: false, reason: reasonOf(error) };
  }
  const enhanced = /^\d{3}[ -]([245]\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1];
  return {
    kind: 'refused',
    permanent: error.permanent === true && (command === 'RCPT TO' || command === 'DATA'),
    reason: enhanced === undefined ? `${responseCode}` : `${responseCode} ${enhanced}`,
  };
}
