/**
 * The codes of `page_email` (beyond §4): made when they are mailed, kept nowhere. How many go to a mailbox is
 * counted in the transaction that keeps the message; of guesses that come together five count.
 */

import type { Asked } from '../actions/asked.ts';
import type { Mailboxes } from '../actions/mailbox.ts';
import type { NewId } from '../chance.ts';
import { type Clock, isoTime } from '../clock.ts';
import { bounds } from '../forms/bounds.ts';
import { prepareMessage } from '../mail/messages.ts';
import type { SigningKeys } from '../settings/signing-keys.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';
import { type Confirmation, isCodeOut } from './confirmations.ts';
import { isCode, typedCode } from './secrets.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
export const CODE_LIFETIME_MS = bounds.codeLifetimeMinutes * 60_000;
const WRONG_MAXIMUM = 5;

/** Beyond §4: to a mailbox from one client and from all, and for a client. */
const MOST = { mailboxFromClient: 3, mailbox: 6, client: 60 };

type Mailed =
  | { kind: 'mailed' }
  /** It was pressed or ended meanwhile, or another code was mailed. */
  | { kind: 'changed' }
  | { kind: 'tooMany'; retryAfterSeconds: number };

type Checked =
  | { kind: 'right' }
  | { kind: 'wrong'; left: number }
  /** It is pending no more; `expired`: by this one. */
  | { kind: 'changed'; expired: boolean };

export type Codes = {
  /** Mails a new code, which replaces the last one. */
  mail(confirmation: Confirmation): Promise<Mailed>;
  /** Takes what was typed, as it came. */
  check(confirmation: Confirmation, given: string): Promise<Checked>;
};

type CodeParts = {
  storage: Storage;
  clock: Clock;
  newId: NewId;
  signingKeys: SigningKeys;
  mailboxes: Pick<Mailboxes, 'digestsOf'>;
  /** The right side of each `Message-ID`. */
  hostname: string;
  end: Asked['end'];
};

/** Its functions throw `StorageUnavailable`. */
export function openCodes(parts: CodeParts): Codes {
  const { storage, clock, newId, signingKeys, mailboxes, hostname, end } = parts;
  const addMessage = prepareMessage(storage);

  /** When one more may be mailed, in milliseconds; undefined where it may be now. */
  async function waitFor(
    tx: OpenTransaction,
    client: string,
    digests: readonly string[],
    now: number,
  ): Promise<number | undefined> {
    const since = (ms: number) => isoTime(now - ms);
    const ofMailbox = await tx
      .selectFrom('confirmation_codes')
      .select(['client', 'asked_at'])
      .where('mailbox_digest', 'in', digests)
      .where('asked_at', '>', since(DAY_MS))
      .orderBy('asked_at')
      .execute();
    const ofClient = await tx
      .selectFrom('confirmation_codes')
      .select('asked_at')
      .where('client', '=', client)
      .where('asked_at', '>', since(HOUR_MS))
      .orderBy('asked_at')
      .execute();
    const waits = [
      waitOf(
        ofMailbox.filter((code) => code.client === client),
        MOST.mailboxFromClient,
        DAY_MS,
      ),
      waitOf(ofMailbox, MOST.mailbox, DAY_MS),
      waitOf(ofClient, MOST.client, HOUR_MS),
    ].flatMap((until) => (until === undefined ? [] : [until - now]));
    return waits.length === 0 ? undefined : Math.max(...waits);
  }

  return {
    async mail(confirmation) {
      const { id, client, email, code_number } = confirmation;
      const digests = await mailboxes.digestsOf(email ?? '');
      const [mailbox_digest = confirmation.mailbox_digest] = digests;
      const now = clock.now().getTime();
      const number = code_number + 1;
      const message = addMessage({
        kind: 'code',
        key: `${id}.${number}`,
        about: null,
        message_id: `<${newId()}@${hostname}>`,
        status: 'pending',
        now: isoTime(now),
      });
      return await storage.write(async (tx): Promise<Mailed> => {
        // One after another, whoever asks: for the mailbox as for the client.
        for (const key of [mailbox_digest, client]) {
          const held = storage.dialect.heldUntilCommit(`codes of ${key}`);
          await tx.selectNoFrom(held.as('held')).execute();
        }
        const wait = await waitFor(tx, client, digests, now);
        if (wait !== undefined) {
          return { kind: 'tooMany', retryAfterSeconds: Math.max(1, Math.ceil(wait / 1000)) };
        }
        const renewed = await tx
          .updateTable('confirmations')
          .set({ code_number: number, code_expires_at: isoTime(now + CODE_LIFETIME_MS) })
          .where('id', '=', id)
          .where('code_number', '=', code_number)
          .where('fields', 'is not', null)
          .executeTakeFirst();
        if (renewed.numUpdatedRows === 0n) return { kind: 'changed' };
        await tx
          .insertInto('confirmation_codes')
          .values({ id, number, client, mailbox_digest, asked_at: isoTime(now) })
          .execute();
        await tx.change(message);
        return { kind: 'mailed' };
      });
    },

    async check(confirmation, given) {
      const { id, code_number, wrong_codes } = confirmation;
      const isOut = isCodeOut(confirmation, clock.now());
      const isRight = isOut && isCode(signingKeys, id, code_number, typedCode(given));
      const checked = await storage.write(async (tx): Promise<Checked> => {
        // A right one counts only where fewer than five wrong ones came before it.
        const counted = await tx
          .updateTable('confirmations')
          .set((row) => ({ wrong_codes: row('wrong_codes', '+', isRight ? 0 : 1) }))
          .where('id', '=', id)
          .where('wrong_codes', '<', WRONG_MAXIMUM)
          .where('code_number', '=', code_number)
          .where('fields', 'is not', null)
          .returning('wrong_codes')
          .execute();
        const [row] = counted;
        if (row === undefined) return { kind: 'changed', expired: false };
        if (isRight) return { kind: 'right' };
        return { kind: 'wrong', left: WRONG_MAXIMUM - row.wrong_codes };
      });
      const isSpent = checked.kind === 'wrong' ? checked.left === 0 : checked.kind === 'changed';
      if (!isSpent || (checked.kind === 'changed' && wrong_codes < WRONG_MAXIMUM)) return checked;
      // After it, for a press takes the rows in the other order; until then no code is taken any more.
      return { kind: 'changed', expired: await end(confirmation, 'expired') };
    },
  };
}

/** When the oldest of so many most recent ones has gone; undefined where there are fewer. */
function waitOf(
  codes: readonly { asked_at: string }[],
  most: number,
  windowMs: number,
): number | undefined {
  const oldest = codes.at(-most);
  return oldest && Date.parse(oldest.asked_at) + windowMs;
}
