/**
 * The mail server of a run. The server accepts messages, or refuses them temporarily or permanently. The server may
 * also accept a message but lose the answer.
 */
import type { Random } from '../chaos/random.ts';
import type { Mailer, Message, SendResult } from '../src/mail/mail.ts';
import type { Chances } from './chances.ts';
import { tokenIn } from './console.ts';
import { type Ledger, type Mail, type MailKind, mailboxOf } from './ledger.ts';
import { CONTRACTOR, OPERATOR } from './messages.ts';
import type { SimulatedProcess } from './process.ts';
import type { Scheduler } from './scheduler.ts';
import type { SignInLink } from './working.ts';

export type MailWorld = {
  scheduler: Scheduler;
  ledger: Ledger;
  random: Random;
  chances: Chances;
  faults: boolean;
  /** Number of messages in transit to the server. */
  underWay: number;
  /** Value of `MAIL_PER_MINUTE`. */
  perMinute: number;
  /** Times of all attempts. */
  attempts: number[];
  /** Returns true if the row of a message can be read now and is marked as sent. */
  isMarked(messageId: string): boolean;
  /** Called with each sign-in link that arrives. */
  onLink(link: SignInLink): void;
};

/** Longest time that the server takes for a message, in milliseconds. */
const SLOWEST_MAIL_MS = 20_000;
/**
 * Window of the budget check. An attempt counts from its claim and begins up to 5 s later, so the window is 5 s shorter
 * than a minute.
 */
const BUDGET_WINDOW_MS = 55_000;
/**
 * Pause that excuses a duplicate. Together with a slow message and an unavailable store, such a pause after the
 * server's 250 takes more than a minute.
 */
const STOPPED_TOO_LONG_MS = 15_000;
const DAY_MS = 86_400_000;

const TROUBLES = ['refuses for now', 'refuses for good', 'takes it, loses its answer', 'is slow'] as const;
type Trouble = (typeof TROUBLES)[number];

/** Opens the mailer of one process. */
export function openSimulatedMailer(world: MailWorld, process: SimulatedProcess): Mailer {
  const { scheduler, ledger, random, chances } = world;
  return {
    close: async () => {},
    send: (message) =>
      new Promise<SendResult>((resolve) => {
        const { address, messageId } = message;
        const steps = world.faults && chances.clockSteps > 0 && random.chance(0.3);
        const trouble = steps ? 'is slow' : drawTrouble(world);
        if (trouble !== undefined) ledger.fault(`mail server ${trouble}`);
        ledger.note(() => `${process.name} sends ${messageId} to ${address}`);
        countAttempt(world);
        if (steps) {
          ledger.fault('step of a wall clock while a message is under way');
          process.machine.stepWall(random.pick(chances.stepsMs));
        }
        const slow = trouble === 'is slow' ? SLOWEST_MAIL_MS : 50;
        world.underWay += 1;
        scheduler.after(random.between(1, slow), () => {
          world.underWay -= 1;
          const permanent = trouble === 'refuses for good';
          const refused: SendResult = { kind: 'refused', permanent, reason: 'simulated' };
          if (permanent) ledger.refused.set(messageId, mailboxOf(address));
          if (permanent || trouble === 'refuses for now') {
            return process.after(1, () => resolve(refused));
          }
          const mail: Mail = {
            messageId,
            address,
            kind: kindOf(message),
            message,
            at: scheduler.time(),
            sender: process,
            stoppedMs: process.stoppedMs(),
            excused: !process.isAlive(),
          };
          take(world, mail);
          // A message that is not marked when its sender dies may be sent once more.
          process.whenKilled(() => {
            if (!world.isMarked(messageId)) mail.excused = true;
          });
          if (trouble === 'takes it, loses its answer') {
            mail.excused = true;
            process.after(1, () => resolve(refused));
          } else process.after(1, () => resolve({ kind: 'sent' }));
        });
      }),
  };
}

function drawTrouble({ faults, random, chances }: MailWorld): Trouble | undefined {
  return faults && random.chance(chances.mailTrouble) ? random.pick(TROUBLES) : undefined;
}

/**
 * Checks invariant 8: all messages together stay within the budget. A clock step or an erasure may make the service
 * forget an attempt.
 */
function countAttempt({ scheduler, ledger, attempts, perMinute }: MailWorld): void {
  const since = scheduler.time() - BUDGET_WINDOW_MS;
  attempts.push(scheduler.time());
  const lately = attempts.filter((at) => at > since).length;
  if (lately <= perMinute || ledger.stepped || ledger.erased.size > 0) return;
  ledger.violate(8, `${lately} attempts in a minute that allows ${perMinute}`);
}

function kindOf({ address, headers }: Message): MailKind {
  if (address === CONTRACTOR) return 'contractor_notice';
  if (address === OPERATOR) return 'sign_in';
  return headers !== undefined && 'List-Unsubscribe' in headers ? 'confirmation' : 'acknowledgement';
}

/**
 * Checks invariant 8: a message is sent twice only if it was in flight at a crash. A mailbox gets one message of a kind
 * a day.
 */
function take({ ledger, onLink }: MailWorld, mail: Mail): void {
  const { kind, message } = mail;
  ledger.note(() => `the mail server takes ${mail.messageId}, a ${kind} for ${mail.address}`);
  const mailbox = mailboxOf(mail.address);
  // Only `/api/subscribe` causes messages to subscribers (reference §9).
  if (kind === 'confirmation' && !/^(reader|leaver)/.test(mailbox)) ledger.violate(8, `${mailbox} has not subscribed`);
  if (kind === 'acknowledgement' && mailbox.startsWith('reader')) {
    ledger.violate(8, `${mailbox} got an acknowledgement of a subscription`);
  }
  if ([mail.address, message.replyTo ?? ''].some((address) => address.endsWith('@example.com'))) {
    ledger.violate(14, `a sandbox client caused a mail to ${mail.address}`);
  }
  if (kind === 'sign_in') onLink({ source: mail.messageId, token: tokenIn(message.text) });
  for (const earlier of ledger.mails) {
    const isSame = earlier.messageId === mail.messageId;
    const stopped = earlier.sender.stoppedMs() - earlier.stoppedMs;
    const isExcused = earlier.excused || mail.excused || stopped >= STOPPED_TOO_LONG_MS;
    if (isSame && !isExcused) {
      ledger.violate(8, `${mail.messageId} came twice, and nothing had crashed`);
    }
    const isOfDay = earlier.kind === kind && mailboxOf(earlier.address) === mailbox && mail.at - earlier.at < DAY_MS;
    const isCapped = kind === 'confirmation' || kind === 'acknowledgement';
    if (!isSame && isOfDay && isCapped && !ledger.stepped && ledger.erased.size === 0) {
      ledger.violate(8, `${mailbox} had two messages in a day`);
    }
  }
  ledger.mails.push(mail);
}
