/**
 * Mails sign-in links to the operators of `OPERATORS` (reference §12.16). Neither an answer nor its time reveals whether
 * an address belongs to an operator:
 *
 * 1. Every request gets the same answer, which is sent before anything is stored.
 * 2. Every request costs the same statements and one commit. If the address belongs to no operator, the transaction
 *    deletes its row again.
 */
import { normalize, parseEmail } from '../forms/fields.ts';
import type { MailContent } from '../mail/mail.ts';
import { prepareMessage, type Render } from '../mail/messages.ts';
import { type Clock, isoTime } from '../platform/clock.ts';
import type { NewId } from '../platform/random.ts';
import type { Settings } from '../settings/settings.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';
import { LINK_LIFETIME_MS, newLink } from './links.ts';
import { returnPage } from './return-page.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Number of links that one operator gets within an hour. */
const LINKS_AN_HOUR = 5;
/** Shortest time between an attempt to send a mail and another attempt because of a new request. */
const REST_MS = 5 * MINUTE_MS;

type SignInMailParts = {
  settings: Pick<Settings, 'operators' | 'operator' | 'baseUrl'>;
  storage: Storage;
  clock: Clock;
  newId: NewId;
};

/** Values as they were typed or sent. */
export type LinkRequest = { email: string | null; page: string | null };

/** Returns a function that queues the mail with a link, within the hourly limit. It throws `StorageUnavailable`. */
export function linkRequests({ settings, storage, clock, newId }: SignInMailParts) {
  const { operators, baseUrl } = settings;
  const { hostname } = new URL(baseUrl);
  const add = prepareMessage(storage);

  return async ({ email, page }: LinkRequest): Promise<void> => {
    const typed = parseEmail(normalize(email ?? '', 'email')) ?? '';
    const address = operators.includes(typed) ? typed : null;
    const nowMs = clock.now().getTime();
    const key = newId();
    const message = add({
      kind: 'sign_in',
      key,
      address,
      about: returnPage(page) ?? null,
      message_id: `<${newId()}@${hostname}>`,
      status: 'pending',
      now: isoTime(nowMs),
    });
    await storage.write(async (tx) => {
      // Requests for the same operator wait for one another.
      await storage.dialect.advisoryLock(tx, `sign-in links of ${typed}`);
      const isAllowed = (await countMails(tx, typed, nowMs)) < LINKS_AN_HOUR && address !== null;
      await tx.change(message);
      if (isAllowed) return;
      await tx.deleteFrom('messages').where('kind', '=', 'sign_in').where('key', '=', key).execute();
      await sendWaiting(tx, typed, nowMs);
    });
  };
}

/**
 * Returns the number of mails to an operator that wait or were attempted within the last hour. A waiting mail of any age
 * counts. Otherwise all mails of a long fault could arrive in one hour.
 */
async function countMails(tx: OpenTransaction, address: string, nowMs: number): Promise<number> {
  const rows = await tx
    .selectFrom('messages')
    .select('key')
    .where('kind', '=', 'sign_in')
    .where('address', '=', address)
    .where((row) => row.or([row('status', '=', 'pending'), row('last_attempt_at', '>', isoTime(nowMs - HOUR_MS))]))
    .execute();
  return rows.length;
}

/** Makes the operator's waiting mails due, so that the operator waits no hours after a fault of the mail server. */
async function sendWaiting(tx: OpenTransaction, address: string, nowMs: number): Promise<void> {
  await tx
    .updateTable('messages')
    .set({ next_attempt_at: isoTime(nowMs) })
    .where('kind', '=', 'sign_in')
    .where('address', '=', address)
    .where('status', '=', 'pending')
    .where('next_attempt_at', '>', isoTime(nowMs))
    .where('last_attempt_at', '<=', isoTime(nowMs - REST_MS))
    .execute();
}

/**
 * Returns the function that makes a link and renders its mail. A later attempt makes a new link and ends the earlier
 * link. If the earlier link was used, or the operator is no longer in `OPERATORS`, the function returns undefined.
 */
export function signInRenderer({ settings, storage, clock }: Omit<SignInMailParts, 'newId'>): Render {
  const { operators, operator, baseUrl } = settings;
  return async ({ key, address }) => {
    if (address === null || !operators.includes(address)) return undefined;
    const { url, row } = newLink({ name: address, mailed: 1, message: key, page: null, now: clock.now(), baseUrl });
    const isStored = await storage.write(async (tx) => {
      // An erasure may have deleted the page since this mail was claimed. The lock makes a concurrent erasure wait.
      const mail = tx.selectFrom('messages').select('about').where('kind', '=', 'sign_in').where('key', '=', key);
      const page = (await storage.dialect.forUpdate(mail).executeTakeFirst())?.about ?? null;
      // The lock comes first, so that a sign-in with the earlier link ends either before or after this change.
      const earlier = tx.selectFrom('operator_links').select('used_at').where('message', '=', key);
      const found = await storage.dialect.forUpdate(earlier).execute();
      if (found.some(({ used_at }) => used_at !== null)) return false;
      await tx.deleteFrom('operator_links').where('message', '=', key).execute();
      await tx
        .insertInto('operator_links')
        .values({ ...row, page })
        .execute();
      return true;
    });
    return isStored ? { address, ...signInMail(operator.name, url) } : undefined;
  };
}

function signInMail(site: string, url: string): MailContent {
  const text = [
    'Open this link and click “Sign in”:',
    '',
    url,
    '',
    `It works once, within ${LINK_LIFETIME_MS / MINUTE_MS} minutes.`,
    '',
    'If you did not request this link, ignore this e-mail. Nobody can sign in without the link.',
    '',
    site,
    '',
  ];
  return { subject: `Sign in to ${site}`, text: text.join('\n') };
}
