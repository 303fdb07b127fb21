/** A person's confirmation messages, found by their mailbox: outbox rows and local mode's files. */
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { OpenTransaction, Storage } from '../storage/database.ts';
import { mailboxOf } from './daily-cap.ts';

/** Written messages, and what a process that died in writing left of one. */
const MESSAGE_FILE = /\.eml(\.part)?$/;
const RECIPIENT = /^to:(?:[^<]*<)?[ \t]*([^\s<>]+)>?[ \t]*$/i;

/** How many outbox rows there are of this address's mailbox. */
export async function countOutboxOf(storage: Storage, email: string): Promise<number> {
  const mailbox = mailboxOf(email);
  const rows = await storage.read((db) =>
    db.selectFrom('outbox').select('mailbox').where('mailbox', '=', mailbox),
  );
  return rows.length;
}

/** Deletes them; returns how many there were. */
export async function eraseOutboxOf(tx: OpenTransaction, email: string): Promise<number> {
  const rows = tx.deleteFrom('outbox').where('mailbox', '=', mailboxOf(email)).returning('mailbox');
  return (await rows.execute()).length;
}

/** The paths of the message files in `folder` that go to this address's mailbox. */
export async function messageFilesTo(folder: string, email: string): Promise<string[]> {
  const mailbox = mailboxOf(email);
  const paths: string[] = [];
  for (const name of await namesIn(folder)) {
    if (!MESSAGE_FILE.test(name)) continue;
    const path = join(folder, name);
    const recipient = recipientIn(await headOf(path));
    if (recipient !== undefined && mailboxOf(recipient.toLowerCase()) === mailbox) paths.push(path);
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

/** Whom a head names in `To`. */
function recipientIn(head: string): string | undefined {
  const [address] = head.split(/\r?\n/).flatMap((line) => RECIPIENT.exec(line)?.[1] ?? []);
  // An unusual local part is quoted in a message.
  return address?.replace(/^"(.*)"@/, '$1@');
}

/** A message's head, its folded lines unfolded; empty where the file has gone meanwhile. */
async function headOf(path: string): Promise<string> {
  try {
    const [head = ''] = (await readFile(path, 'utf8')).split(/\r?\n\r?\n/, 1);
    return head.replace(/\r?\n[ \t]+/g, ' ');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
