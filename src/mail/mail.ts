/**
 * The confirmation message of `/api/subscribe` (spec §4.7), and the port through which it leaves.
 * It is made once, from settings alone: nothing that a visitor typed is in it. The recipient stands
 * in `To` and in the envelope, nowhere else.
 */
import type { SendMailOptions } from 'nodemailer';
import { parseEmail } from '../forms/fields.ts';
import { pages } from '../routes.ts';
import { parseSender, type Sender } from '../settings/sender.ts';

/** How many messages may be under way at once: a server that stalls on one doesn't stop the others. */
export const CONCURRENT_SENDS = 5;

export type SendResult =
  | { kind: 'sent' }
  /** `reason` is a reply code or an error code: the text of a reply often repeats the address. */
  | { kind: 'refused'; permanent: boolean; reason: string };

export type Mailer = {
  /** Settles within 50 s, before the outbox's shortest back-off has passed; never throws by design. */
  send(message: { address: string; messageId: string }): Promise<SendResult>;
  /** Ends what is under way: those sends are refused. */
  close(): Promise<void>;
};

/** Everything of the message but its recipient, `Message-ID` and date. */
export type Confirmation = {
  from: Sender;
  subject: string;
  text: string;
};

export type ConfirmationSettings = {
  operatorName: string;
  operatorContact: string | undefined;
  /** Without a trailing slash. */
  baseUrl: string;
  /** `MAIL_FROM`, as it was given. */
  from: string;
};

/** Prepares the message. Plain text: there is no markup to escape and nothing to load. */
export function confirmationMessage(settings: ConfirmationSettings): Confirmation {
  const { operatorName, operatorContact, baseUrl, from } = settings;
  const removal =
    operatorContact === undefined
      ? `How to have it removed:\n${baseUrl}${pages.privacy.path}`
      : `To have it removed, tell us: ${operatorContact}`;
  return {
    from: parseSender(from),
    subject: `Your subscription to updates from ${operatorName}`,
    text: `Hello,

this address was entered on our site, with consent to receive updates
from ${operatorName}:
${baseUrl}

If that was you, there is nothing more to do.

If it was not you, somebody entered your address, perhaps by mistake.
${removal}

What we keep and for how long:
${baseUrl}${pages.privacy.path}

This message was sent automatically, at most once in 24 hours.

${operatorName}
`,
  };
}

/**
 * The message for one recipient, as nodemailer takes it; undefined where the address is not exactly
 * one address. Objects and an explicit envelope, for nodemailer reads a text as a list of addresses.
 */
export function addressed(
  confirmation: Confirmation,
  message: { address: string; messageId: string },
  date: Date,
): SendMailOptions | undefined {
  const { address, messageId } = message;
  if (parseEmail(address) !== address) return undefined;
  const { from, subject, text } = confirmation;
  return {
    from,
    to: { name: '', address },
    envelope: { from: from.address, to: [address] },
    messageId,
    date,
    subject,
    text,
    headers: { 'Auto-Submitted': 'auto-generated' },
    xMailer: false,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

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
