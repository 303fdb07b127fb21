/**
 * How a mailbox is known without being kept (beyond §4): a keyed digest of the lower-cased address without its
 * plus-tag. The key is one of its own, for a report holds as long as receipts, and signing keys come and go. It is
 * kept in the database, wrapped by each signing key in force: the database alone does not have it, and whoever comes
 * with a new signing key beside an old one hands it on.
 */
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { mailboxOf } from '../mail/daily-cap.ts';
import type { Log } from '../operations/log.ts';
import type { SigningKeys } from '../settings/signing-keys.ts';
import type { MailboxKeyRow } from '../storage/confirmation-schema.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';

const PURPOSE = 'lead-intake mailbox v1\n';
const WRAPPING = 'lead-intake mailbox key v1\n';
const NAMING = 'lead-intake mailbox key name v1\n';

const KEY_BYTES = 32;
/** NIST SP 800-38D §8.2: a random one of 96 bits for each wrapping, of which there are few. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';

export type Mailboxes = {
  /** The digests of an address, hex: the first is the one to keep, the others are those of the version before. */
  digestsOf(email: string): Promise<readonly string[]>;
  /** Wraps the key by each signing key in force, where that was not done yet. */
  prepare(): Promise<void>;
};

export type MailboxesParts = {
  storage: Storage;
  /** Those in force now. */
  signingKeys: () => SigningKeys;
  randomSecret: (bytes: number) => Buffer;
  log: Pick<Log, 'warn'>;
};

type Opened = {
  /** The present one first; others are of signing keys that had stood alone before they came beside these. */
  mailboxKeys: readonly Buffer[];
  /** The names of the signing keys that wrap one. */
  wrappedBy: ReadonlySet<string>;
};

/** Its functions throw `StorageUnavailable`. */
export function openMailboxes(parts: MailboxesParts): Mailboxes {
  const { storage, randomSecret, log } = parts;
  // One that is listed twice is one.
  const signingKeys = () => [
    ...new Map(parts.signingKeys().map((key) => [nameOf(key), key])).values(),
  ];
  let opened: Opened | undefined;

  async function keysFor(keys: SigningKeys): Promise<readonly Buffer[]> {
    let isLost = false;
    const isReady = ({ wrappedBy }: Opened) => keys.every((key) => wrappedBy.has(nameOf(key)));
    if (opened !== undefined && isReady(opened)) return opened.mailboxKeys;
    const rows = await storage.read((db) => db.selectFrom('mailbox_keys').selectAll());
    const found = openedOf(rows, keys);
    if (isReady(found)) opened = found;
    else {
      opened = await storage.write(async (tx) => {
        const { known, ...wrapped } = await wrapByAll(tx, keys);
        isLost = !known;
        return wrapped;
      });
    }
    if (isLost) {
      log.warn(
        'no signing key in force was ever beside an older one: who has reported whom is lost',
      );
    }
    return opened.mailboxKeys;
  }

  /** Of several instances that begin together, one makes the key. */
  async function wrapByAll(
    tx: OpenTransaction,
    keys: SigningKeys,
  ): Promise<Opened & { known: boolean }> {
    await tx
      .selectNoFrom(storage.dialect.heldUntilCommit('the key of the mailboxes').as('held'))
      .execute();
    const rows = await tx.selectFrom('mailbox_keys').selectAll().execute();
    const [known] = openedOf(rows, keys).mailboxKeys;
    const key = known ?? randomSecret(KEY_BYTES);
    const isMissing = (each: Buffer) => rows.every((row) => row.signing_key !== nameOf(each));
    const wrapped = keys.filter(isMissing).map((each) => ({
      signing_key: nameOf(each),
      wrapped: wrap(each, key, randomSecret(NONCE_BYTES)),
    }));
    if (wrapped.length > 0) await tx.insertInto('mailbox_keys').values(wrapped).execute();
    const isKnown = known !== undefined || rows.length === 0;
    return { ...openedOf([...rows, ...wrapped], keys), known: isKnown };
  }

  return {
    async digestsOf(email) {
      const keys = signingKeys();
      const mailbox = PURPOSE + mailboxOf(email.toLowerCase());
      const digest = (key: Buffer) => createHmac('sha256', key).update(mailbox).digest('hex');
      return [...(await keysFor(keys)), ...keys].map(digest);
    },

    async prepare() {
      const keys = signingKeys();
      if (keys.length > 0) await keysFor(keys);
    },
  };
}

/** What the signing keys have wrapped, in their order. */
function openedOf(rows: readonly MailboxKeyRow[], keys: SigningKeys): Opened {
  const mailboxKeys: Buffer[] = [];
  for (const key of keys) {
    const row = rows.find(({ signing_key }) => signing_key === nameOf(key));
    const found = row && unwrap(key, Buffer.from(row.wrapped, 'base64'));
    if (found && !mailboxKeys.some((each) => each.equals(found))) mailboxKeys.push(found);
  }
  return { mailboxKeys, wrappedBy: new Set(rows.map((row) => row.signing_key)) };
}

function wrap(signingKey: Buffer, key: Buffer, nonce: Buffer): string {
  const cipher = createCipheriv(CIPHER, derived(signingKey, WRAPPING), nonce);
  const sealed = [nonce, cipher.update(key), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(sealed).toString('base64');
}

/** Throws where the row is not what was written. */
function unwrap(signingKey: Buffer, wrapped: Buffer): Buffer {
  const nonce = wrapped.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, derived(signingKey, WRAPPING), nonce);
  decipher.setAuthTag(wrapped.subarray(-TAG_BYTES));
  return Buffer.concat([
    decipher.update(wrapped.subarray(NONCE_BYTES, -TAG_BYTES)),
    decipher.final(),
  ]);
}

/** What a signing key is known by in the table. */
function nameOf(signingKey: Buffer): string {
  return derived(signingKey, NAMING).toString('hex');
}

function derived(signingKey: Buffer, purpose: string): Buffer {
  return createHmac('sha256', signingKey).update(purpose).digest();
}
