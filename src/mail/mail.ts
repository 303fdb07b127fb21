/**
 * The port through which messages leave, and what all of them have in common. The recipient stands in `To` and
 * in the envelope, nowhere else; what a message says is made by whoever knows its kind, when it is sent.
 */
import type { SendMailOptions } from 'nodemailer';
import { parseEmail } from '../forms/fields.ts';
import type { Sender } from '../settings/sender.ts';

/** How many messages may be under way at once: a server that stalls on one doesn't stop the others. */
export const CONCURRENT_SENDS = 5;

export type SendResult =
  | { kind: 'sent' }
  /** `reason` is a reply code or an error code: the text of a reply often repeats the address. */
  | { kind: 'refused'; permanent: boolean; reason: string };

/** What is said: plain text, so that there is no markup to escape and nothing to load. */
export type Letter = {
  /** From settings and the catalogue alone: nothing that anybody typed. */
  subject: string;
  text: string;
  /** Whom an answer goes to, where that is not the sender. */
  replyTo?: string;
  /** Where one request with nothing else takes the recipient off the list (RFC 8058). */
  unsubscribeUrl?: string;
};

/** A letter, whom it goes to, and the `Message-ID` that it keeps over all attempts. */
export type Message = Letter & { address: string; messageId: string };

export type Mailer = {
  /** Settles within 50 s, before the outbox's shortest back-off has passed; never throws by design. */
  send(message: Message): Promise<SendResult>;
  /** Ends what is under way: those sends are refused. */
  close(): Promise<void>;
};

/**
 * The message as nodemailer takes it; undefined where an address is not exactly one address. Objects and an
 * explicit envelope, for nodemailer reads a text as a list of addresses.
 */
export function addressed(from: Sender, message: Message, date: Date): SendMailOptions | undefined {
  const { address, messageId, subject, text, replyTo, unsubscribeUrl } = message;
  if (!isOneAddress(address) || (replyTo !== undefined && !isOneAddress(replyTo))) return undefined;
  return {
    from,
    to: { name: '', address },
    ...(replyTo !== undefined && { replyTo: { name: '', address: replyTo } }),
    envelope: { from: from.address, to: [address] },
    messageId,
    date,
    subject,
    text,
    headers: {
      'Auto-Submitted': 'auto-generated',
      ...(unsubscribeUrl !== undefined && {
        // As it is: folded or encoded, programs would not find the address in it.
        'List-Unsubscribe': { prepared: true, value: `<${unsubscribeUrl}>` },
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      }),
    },
    xMailer: false,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

const isOneAddress = (address: string) => parseEmail(address) === address;

/** What `send` answers where `addressed` finds no address. */
export const notAnAddress: SendResult = {
  kind: 'refused',
  permanent: true,
  reason: 'not an address',
};

/** What may be logged of an error: its code, or its type; its message can hold an address or a secret. */
export function reasonOf(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,40}$/.test(code)) return code;
  return error instanceof Error ? error.name : 'unknown';
}
