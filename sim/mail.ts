/** The mail server of a run: it takes messages, refuses some, and may take one and lose its answer. */
import type { Random } from '../chaos/random.ts';
import type { Mailer, SendResult } from '../src/mail/mail.ts';
import type { Chances } from './chances.ts';
import type { Ledger, Mail } from './ledger.ts';
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
  /** Whether the row of a message is marked as sent, where that can be read now. */
  isMarked(messageId: string): boolean;
};

/** How long the server may take for a message. */
const SLOWEST_MAIL_MS = 20_000;

const TROUBLES = ['refuses for now', 'takes it, loses its answer', 'is slow'] as const;

/** The port of one process to it. */
export function openSimulatedMailer(world: MailWorld, process: SimulatedProcess): Mailer {
  const { scheduler, ledger, random, chances } = world;
  return {
    close: async () => {},
    send: ({ address, messageId }) =>
      new Promise<SendResult>((resolve) => {
        const trouble =
          world.faults && random.chance(chances.mailTrouble) ? random.pick(TROUBLES) : undefined;
        if (trouble !== undefined) ledger.fault(`mail server ${trouble}`);
        const slow = trouble === 'is slow' ? SLOWEST_MAIL_MS : 50;
        world.underWay += 1;
        scheduler.after(random.between(1, slow), () => {
          world.underWay -= 1;
          const refused: SendResult = { kind: 'refused', permanent: false, reason: 'simulated' };
          if (trouble === 'refuses for now') return process.after(1, () => resolve(refused));
          const mail: Mail = { messageId, address, excused: !process.isAlive() };
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

/** Promise 8: a message comes twice only if it was in flight at a crash. */
function take({ ledger }: MailWorld, mail: Mail): void {
  const earlier = ledger.mails.filter(({ messageId }) => messageId === mail.messageId);
  ledger.note(() => `the mail server takes ${mail.messageId} for ${mail.address}`);
  if (earlier.some(({ excused }) => !excused)) {
    ledger.violate(8, `${mail.messageId} came twice, and nothing had crashed`);
  }
  ledger.mails.push(mail);
}
