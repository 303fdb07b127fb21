/**
 * The interface of a mailer, and the form of all e-mails. Only `To` and the envelope contain the recipient. The content
 * is rendered when a message is sent.
 */
import type { NodemailerError, SendMailOptions } from 'nodemailer';
import { parseEmail } from '../forms/fields.ts';
import type { Clock } from '../platform/clock.ts';
import type { Sender } from '../settings/groups.ts';
import { shownReply } from './reply.ts';

/** Number of simultaneous sends. If the server stalls on one message, the others continue. */
export const CONCURRENT_SENDS = 5;

export type SendResult =
  | { kind: 'sent' }
  /**
   * `reason` is a reply code or an error code for the log, because the text of a reply often repeats the address.
   * `reply` is the mail server's reply for the operator. It is undefined if the server did not reply.
   */
  | { kind: 'refused'; permanent: boolean; reason: string; reply?: string };

/** Content of a message. The content is plain text, so there is no markup to escape and nothing to load. */
export type MailContent = {
  /** Subject. Only a notice's subject contains something that a person typed (`notices/notice-mail.ts`). */
  subject: string;
  text: string;
  /** Address for answers (default: the sender). */
  replyTo?: string;
  headers?: Readonly<Record<string, string | { prepared: true; value: string }>>;
};

/** A message with its recipient and the `Message-ID` that all attempts share. */
export type Message = MailContent & { address: string; messageId: string };

export type Mailer = {
  /** Sends a message. Settles within 50 s, before the outbox's shortest retry delay. Never throws. */
  send(message: Message): Promise<SendResult>;
  /** Ends all sends under way. The result of these sends is `refused`. */
  close(): Promise<void>;
};

/**
 * Returns nodemailer's form of a message, or undefined if an address is not exactly one address. Addresses are objects
 * and the envelope is explicit, because nodemailer reads a text as a list of addresses.
 */
function mailOptions(from: Sender, message: Message, date: Date): SendMailOptions | undefined {
  const { address, messageId, subject, text, replyTo, headers } = message;
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
    headers: { 'Auto-Submitted': 'auto-generated', ...headers },
    xMailer: false,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

const isOneAddress = (address: string) => parseEmail(address) === address;

/** Returns the `send` of a mailer, which passes each message to `deliver` and never throws. */
export function openSend(
  { from, clock }: { from: Sender; clock: Clock },
  deliver: (mail: SendMailOptions) => Promise<void>,
): Mailer['send'] {
  return async (message) => {
    const mail = mailOptions(from, message, clock.now());
    if (mail === undefined) return { kind: 'refused', permanent: true, reason: 'not an address' };
    try {
      await deliver(mail);
      return { kind: 'sent' };
    } catch (error) {
      return refusal(error as NodemailerError, message);
    }
  };
}

/** Returns the code or the type of an error for the log. The error's message can contain an address or a secret. */
export function reasonOf(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,40}$/.test(code)) return code;
  return error instanceof Error ? error.name : 'unknown';
}

/**
 * Returns the result of a failed send. The refusal is permanent if the server refuses this recipient or this message.
 * If the server refuses the sign-in or the sender, the messages wait, because only the operator can repair this.
 */
function refusal(error: NodemailerError, message: Message): SendResult {
  const { responseCode, response = '', command } = error;
  if (responseCode === undefined) {
    return { kind: 'refused', permanent: false, reason: reasonOf(error) };
  }
  const enhanced = /^\d{3}[ -]([245]\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1];
  const reason = enhanced === undefined ? `${responseCode}` : `${responseCode} ${enhanced}`;
  return {
    kind: 'refused',
    permanent: error.permanent === true && (command === 'RCPT TO' || command === 'DATA'),
    reason,
    reply: `${reason} ${shownReply(response, message)}`.trimEnd(),
  };
}
