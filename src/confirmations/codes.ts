/**
 * Mails and checks the codes of `page_email` (reference §6.13). A code is computed when its message is rendered, and is
 * not stored. The transaction that queues the message also counts the code. At most five wrong guesses count, even if
 * guesses are concurrent.
 */
import { isUnreported } from '../actions/execution-queries.ts';
import type { Credentials } from '../credentials/file.ts';
import { bounds } from '../forms/bounds.ts';
import { findForm } from '../forms/catalog.ts';
import { prepareMessage, type Render } from '../mail/messages.ts';
import { type Clock, isoTime } from '../platform/clock.ts';
import type { NewId } from '../platform/random.ts';
import { pathTo, routes } from '../routes.ts';
import type { Settings } from '../settings/settings.ts';
import type { SigningKeys } from '../settings/signing-keys.ts';
import { fillInAll } from '../site/interpolate.ts';
import type { Words } from '../site/words.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';
import { type Confirmation, type Confirmations, isCodeOut } from './confirmations.ts';
import type { PendingConfirmations } from './pending.ts';
import { codeOf, isCode, openSecret, sealSecret, typedCode } from './tokens.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
export const CODE_LIFETIME_MS = bounds.codeLifetimeMinutes * 60_000;
const WRONG_MAXIMUM = 5;
/** The code of every confirmation of a sandbox client, which is not mailed. */
const SANDBOX_CODE = '000000';

/** Maximum number of codes (reference §6.13). The first two limits apply for a day, the last limit for an hour. */
const MAXIMUM = { mailboxFromClient: 3, mailbox: 6, client: 60 };

type Mailed =
  | { kind: 'mailed' }
  /** The confirmation is no longer pending, or another code was mailed. */
  | { kind: 'changed' }
  | { kind: 'tooMany'; retryAfterSeconds: number };

type Checked =
  | { kind: 'right' }
  | { kind: 'wrong'; left: number }
  /** The confirmation is no longer pending. `expired` is true if this check ended it. */
  | { kind: 'changed'; expired: boolean };

export type Codes = ReturnType<typeof openCodes>;

type CodeParts = {
  storage: Storage;
  clock: Clock;
  newId: NewId;
  signingKeys: SigningKeys;
  /** The right side of each `Message-ID`. */
  hostname: string;
  end: PendingConfirmations['end'];
};

/** Returns the functions that mail and check codes. They throw `StorageUnavailable`. */
export function openCodes(parts: CodeParts) {
  const { storage, clock, newId, signingKeys, hostname, end } = parts;
  const addMessage = prepareMessage(storage);

  /** Returns the wait until the next code, in milliseconds, or a value of at most 0 if a code may be mailed now. */
  async function waitFor(tx: OpenTransaction, { client, mailbox_digest }: Confirmation, now: number): Promise<number> {
    const mailedSince = (column: 'mailbox_digest' | 'client', value: string, windowMs: number) =>
      tx
        .selectFrom('confirmation_codes')
        .select(['client', 'asked_at'])
        .where(column, '=', value)
        .where('asked_at', '>', isoTime(now - windowMs))
        .orderBy('asked_at')
        .execute();
    const ofMailbox = await mailedSince('mailbox_digest', mailbox_digest, DAY_MS);
    const fromClient = ofMailbox.filter((code) => code.client === client);
    const ofClient = await mailedSince('client', client, HOUR_MS);
    return (
      Math.max(
        freeAt(fromClient, MAXIMUM.mailboxFromClient, DAY_MS),
        freeAt(ofMailbox, MAXIMUM.mailbox, DAY_MS),
        freeAt(ofClient, MAXIMUM.client, HOUR_MS),
      ) - now
    );
  }

  return {
    /** Mails a new code, which replaces the previous code, and a link to the page with this secret. */
    async mail(confirmation: Confirmation, secret: string): Promise<Mailed> {
      const { id, client, mailbox_digest, code_number } = confirmation;
      const now = clock.now().getTime();
      const number = code_number + 1;
      const key = `${id}.${number}`;
      const message = addMessage({
        kind: 'code',
        key,
        about: null,
        sealed_secret: sealSecret(signingKeys, key, secret),
        message_id: `<${newId()}@${hostname}>`,
        status: 'pending',
        now: isoTime(now),
      });
      return await storage.write(async (tx): Promise<Mailed> => {
        // Requests for the same mailbox or client wait for one another.
        for (const limited of [mailbox_digest, client]) {
          await storage.dialect.advisoryLock(tx, `codes of ${limited}`);
        }
        const waitMs = await waitFor(tx, confirmation, now);
        if (waitMs > 0) return { kind: 'tooMany', retryAfterSeconds: Math.ceil(waitMs / 1000) };
        const renewed = await tx
          .updateTable('confirmations')
          .set({ code_number: number, code_expires_at: isoTime(now + CODE_LIFETIME_MS) })
          .where('id', '=', id)
          .where('code_number', '=', code_number)
          .where('fields', 'is not', null)
          .where((row) => isUnreported(row, client, mailbox_digest))
          .executeTakeFirst();
        if (renewed.numUpdatedRows === 0n) return { kind: 'changed' };
        await tx
          .insertInto('confirmation_codes')
          .values({ id, number, client, mailbox_digest, asked_at: isoTime(now) })
          .execute();
        if (confirmation.sandbox === 0) await tx.change(message);
        return { kind: 'mailed' };
      });
    },

    /** Checks the text that the person typed as the code, and counts a wrong text. */
    async check(confirmation: Confirmation, given: string): Promise<Checked> {
      const { id, code_number, wrong_codes } = confirmation;
      const isRightCode = (typed: string) =>
        confirmation.sandbox === 1 ? typed === SANDBOX_CODE : isCode(signingKeys, id, code_number, typed);
      const isOut = isCodeOut(confirmation, clock.now());
      const isRight = isOut && isRightCode(typedCode(given));
      const checked = await storage.write(async (tx): Promise<Checked> => {
        // A right code counts only after fewer than five wrong codes.
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
      // A claim locks the rows in the other order, so `end` is a second transaction. Until then, every code is refused.
      return { kind: 'changed', expired: await end(confirmation, 'expired') };
    },
  };
}

/** Returns the time at which the limit allows another code, in ms since 1970, or 0 if the limit is not reached. */
function freeAt(codes: readonly { asked_at: string }[], most: number, windowMs: number): number {
  const oldest = codes.at(-most);
  return oldest === undefined ? 0 : Date.parse(oldest.asked_at) + windowMs;
}

type RendererParts = Pick<Settings, 'operator' | 'baseUrl'> & {
  confirmations: Confirmations;
  credentials: Pick<Credentials, 'labelOf'>;
  signingKeys: SigningKeys;
  clock: Clock;
  words: () => Words['confirm'];
};

/**
 * Returns the function that renders the message with a code, in the operator's language. The message names client,
 * destination and action, links to the page, and has no fields. Without the secret of the page it has the address of
 * the site instead. The function returns undefined if the confirmation has ended, was erased or has a newer code.
 */
export function codeRenderer(parts: RendererParts): Render {
  const { confirmations, credentials, signingKeys, clock, words, operator, baseUrl } = parts;
  return async ({ key, sealed_secret: sealed }) => {
    const [id = '', number = ''] = key.split('.');
    const found = await confirmations.find(id);
    if (found?.execution.status !== 'asked' || found.email === null) return undefined;
    const { client, destination, email: address, code_number } = found;
    if (!isCodeOut(found, clock.now()) || String(code_number) !== number) return undefined;
    const { message, purposes } = words();
    const form = findForm(found.action);
    const secret = sealed === null ? undefined : openSecret(signingKeys, key, sealed);
    const text = fillInAll(message, {
      code: codeOf(signingKeys, id, code_number),
      minutes: String(bounds.codeLifetimeMinutes),
      purpose: form === undefined ? found.action : purposes[form.name],
      client: credentials.labelOf(client),
      destination,
      operator: operator.name,
      site: baseUrl,
      page: secret === undefined ? baseUrl : baseUrl + pathTo(routes.confirmationPage, { secret }),
    });
    return { address, ...text };
  };
}
