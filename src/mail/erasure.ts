/** Messages to a person and about them: rows of the outbox, and local mode's files. */
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { OpenTransaction, Storage } from '../storage/database.ts';
import { mailboxOf } from './daily-cap.ts';

/** Written messages, and what a process that died in writing left of one. */
const MESSAGE_FILE = /\.eml(\.part)?$/;
/** Whom a message goes to, and whom an answer to a notice goes to. */
const PERSON = /^(?:to|reply-to):(?:[^<]*<)?[ \t]*([^\s<>]+)/i;

/** A statement takes some 32,000 values on SQLite, twice as many on PostgreSQL. */
const IDS_AT_ONCE = 1_000;

/** How many messages there are to this address's mailbox. */
export async function countOutboxOf(storage: Storage, email: string): Promise<number> {
  const mailbox = mailboxOf(email);
  const rows = await storage.read((db) =>
    db
      .selectFrom('messages')
      .select('key')
      .where('kind', '=', 'confirmation')
      .where('key', '=', mailbox)
      .unionAll(db.selectFrom('outbox').select('mailbox as key').where('mailbox', '=', mailbox)),
  );
  return rows.length;
}

/** Deletes them, in the table of the version before as well; returns how many there were. */
export async function eraseOutboxOf(tx: OpenTransaction, email: string): Promise<number> {
  const mailbox = mailboxOf(email);
  const older = tx.deleteFrom('outbox').where('mailbox', '=', mailbox).returning('mailbox');
  const rows = tx
    .deleteFrom('messages')
    .where('kind', '=', 'confirmation')
    .where('key', '=', mailbox)
    .returning('key');
  return (await older.execute()).length + (await rows.execute()).length;
}

/** Deletes the notices about submissions, by the ids of those; returns how many there were. */
export async function eraseNoticesOf(tx: OpenTransaction, ids: readonly string[]): Promise<number> {
  let count = 0;
  for (let from = 0; from < ids.length; from += IDS_AT_ONCE) {
    const rows = tx
      .deleteFrom('messages')
      .where('kind', '=', 'notice')
      .where('key', 'in', ids.slice(from, from + IDS_AT_ONCE))
      .returning('key');
    count += (await rows.execute()).length;
  }
  return count;
}

/** The paths of the message files in `folder` that go to this address's mailbox, or are about its owner. */
export async function messageFilesTo(folder: string, email: string): Promise<string[]> {
  const mailbox = mailboxOf(email);
  const paths: string[] = [];
  for (const name of await namesIn(folder)) {
    if (!MESSAGE_FILE.test(name)) continue;
    const path = join(folder, name);
    const people = peopleIn(await headOf(path));
    if (people.some((address) => mailboxOf(address.toLowerCase()) === mailbox)) paths.push(path);
  }
  return paths;
}

/** Removes files that may be gone already. */
export async function removeFiles(paths: readonly string[]): Promise<void> {
  for (const path of paths) await rm(path, { force: true });
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Whom a head names in `To` and `Reply-To`. */
function peopleIn(head: string): string[] {
  return head.split(/\r?\n/).flatMap((line) => PERSON.exec(line)?.[1] ?? []);
}

/** A message's head, its folded lines unfolded; empty where the file has gone meanwhile. */
async function headOf(path: string): Promise<string> {
  try {
    const [head = ''] = (await readFile(path, 'utf8')).split(/\r?\n\r?\n/, 1);
    return head.replace(/\r?\n(?=[ \t])/g, '');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
