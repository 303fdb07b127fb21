/** Counts and erases messages to a person and about them: rows of the outbox, and files of local mode. */
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { OpenTransaction, ReadOnly } from '../storage/database.ts';
import { mailboxOf } from './messages.ts';

/** Files of messages, also incomplete ones of a process that died while writing. */
const MESSAGE_FILE = /\.eml(\.part)?$/;
/** Matches a header with the recipient of a message, or with the person whom a notice is about. */
const PERSON = /^(?:to|reply-to):(?:[^<]*<)?[ \t]*([^\s<>]+)/i;

/** Kinds of message to a person, whose key is the mailbox, and kinds about a submission, whose key is its id. */
const TO_PERSON = ['confirmation', 'acknowledgement'] as const;
const ABOUT_SUBMISSION = ['notice', 'contractor_notice'] as const;

/** Number of ids in one statement. SQLite allows about 32,000 values, PostgreSQL twice as many. */
const IDS_AT_ONCE = 1_000;

/** Returns the number of messages to the mailbox of this address. */
export async function countOutboxOf(storage: ReadOnly, email: string): Promise<number> {
  const rows = await storage.read((db) =>
    db.selectFrom('messages').select('key').where('kind', 'in', TO_PERSON).where('key', '=', mailboxOf(email)),
  );
  return rows.length;
}

/** Deletes the messages to the mailbox of this address and returns their number. */
export async function eraseOutboxOf(tx: OpenTransaction, email: string): Promise<number> {
  const deleted = tx.deleteFrom('messages').where('kind', 'in', TO_PERSON).where('key', '=', mailboxOf(email));
  return Number((await deleted.executeTakeFirst()).numDeletedRows);
}

/** Deletes the notices about the submissions with these ids, and returns their number. */
export async function eraseNoticesOf(tx: OpenTransaction, ids: readonly string[]): Promise<number> {
  let count = 0;
  for (let from = 0; from < ids.length; from += IDS_AT_ONCE) {
    const deleted = tx
      .deleteFrom('messages')
      .where('kind', 'in', ABOUT_SUBMISSION)
      .where('key', 'in', ids.slice(from, from + IDS_AT_ONCE));
    count += Number((await deleted.executeTakeFirst()).numDeletedRows);
  }
  return count;
}

/** Returns the paths of the message files in `folder` that go to the mailbox of this address or are about its owner. */
export async function messageFilesTo(folder: string, email: string): Promise<string[]> {
  const mailbox = mailboxOf(email);
  const names = await unlessMissing(readdir(folder), []);
  const paths: string[] = [];
  for (const name of names.filter((each) => MESSAGE_FILE.test(each))) {
    const path = join(folder, name);
    const addresses = addressesIn(await unlessMissing(readFile(path, 'utf8'), ''));
    if (addresses.some((address) => mailboxOf(address.toLowerCase()) === mailbox)) paths.push(path);
  }
  return paths;
}

/** Removes files. A missing file is no error. */
export async function removeFiles(paths: readonly string[]): Promise<void> {
  for (const path of paths) await rm(path, { force: true });
}

/** Returns the addresses in `To` and `Reply-To` of a message. The message's headers may have folded lines. */
function addressesIn(message: string): string[] {
  const [head = ''] = message.split(/\r?\n\r?\n/, 1);
  const lines = head.replace(/\r?\n(?=[ \t])/g, '').split(/\r?\n/);
  return lines.flatMap((line) => PERSON.exec(line)?.[1] ?? []);
}

async function unlessMissing<T>(reading: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return otherwise;
    throw error;
  }
}
