/**
 * The mail server of a run: it takes messages, refuses some for now and some for good, and may take one and
 * lose its answer.
 */
import type { Random } from '../chaos/random.ts';
import type { Mailer, SendResult } from '../src/mail/mail.ts';
import type { Chances } from './chances.ts';
import { type Ledger, type Mail, mailboxOf } from './ledger.ts';
import type { SimulatedProcess } from './process.ts';
import type { Scheduler } from './scheduler.ts';

export type MailWorld = {
  scheduler: Scheduler;
  ledger: Ledger;
  random: Random;
  chances: Chances;
  faults: boolean;
  /** How many messages are on their way to the server. */
  underWay: number;
  /** `MAIL_PER_MINUTE`. */
  perMinute: number;
  /** When each attempt reached the server. */
  attempts: number[];
  /** Whether the row of a message is marked as sent, where that can be read now. */
  isMarked(messageId: string): boolean;
};

/** How long the server may take for a message. */
const SLOWEST_MAIL_MS = 20_000;
/** An attempt is counted when it is taken, and begins within five seconds of that. */
const BUDGET_WINDOW_MS = 55_000;
/** Stopped for so long after the server's 250, a slow message and a store away, it is over a minute. */
const STOPPED_TOO_LONG_MS = 15_000;
const DAY_MS = 86_400_000;

const TROUBLES = [
  'refuses for now',
  'refuses for good',
  'takes it, loses its answer',
  'is slow',
] as const;
type Trouble = (typeof TROUBLES)[number];

/** The port of one process to it. */
export function openSimulatedMailer(world: MailWorld, process: SimulatedProcess): Mailer {
  const { scheduler, ledger, random, chances } = world;
  return {
    close: async () => {},
    send: ({ address, messageId }) =>
      new Promise<SendResult>((resolve) => {
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
            at: scheduler.time(),
            sender: process,
            stoppedMs: process.stoppedMs(),
            excused: !process.isAlive(),
          };
          take(world, mail);
          // In flight at the end of its sender, or of the connection: it may come once more.
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

/** Promise 8: all messages together keep to the budget, where neither a clock nor an erasure forgets one. */
function countAttempt({ scheduler, ledger, attempts, perMinute }: MailWorld): void {
  const since = scheduler.time() - BUDGET_WINDOW_MS;
  attempts.push(scheduler.time());
  const lately = attempts.filter((at) => at > since).length;
  if (lately <= perMinute || ledger.stepped || ledger.erased.size > 0) return;
  ledger.violate(8, `${lately} attempts in a minute that allows ${perMinute}`);
}

/** Promise 8: a message comes twice only if it was in flight at a crash, and a mailbox has one in a day. */
function take({ ledger }: MailWorld, mail: Mail): void {
  ledger.note(() => `the mail server takes ${mail.messageId} for ${mail.address}`);
  const mailbox = mailboxOf(mail.address);
  // Contract §4: of `/api/subscribe` alone.
  if (!mailbox.startsWith('reader')) ledger.violate(8, `${mailbox} has not subscribed`);
  for (const earlier of ledger.mails) {
    const isSame = earlier.messageId === mail.messageId;
    const stopped = earlier.sender.stoppedMs() - earlier.stoppedMs;
    const isExcused = earlier.excused || mail.excused || stopped >= STOPPED_TOO_LONG_MS;
    if (isSame && !isExcused) {
      ledger.violate(8, `${mail.messageId} came twice, and nothing had crashed`);
    }
    const isCapped = mailboxOf(earlier.address) === mailbox && mail.at - earlier.at < DAY_MS;
    if (!isSame && isCapped && !ledger.stepped && ledger.erased.size === 0) {
      ledger.violate(8, `${mailbox} had two messages in a day`);
    }
  }
  ledger.mails.push(mail);
}
