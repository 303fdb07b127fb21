/** `npm run erase`: erases everything that is stored about a person (reference §13.8). */
import { join } from 'node:path';
import { countPerson, erasePerson, type PersonRows } from '../confirmations/person.ts';
import { timesIn } from '../console/times.ts';
import { messageFilesTo, removeFiles } from '../mail/erasure.ts';
import { systemClock } from '../platform/clock.ts';
import { newId } from '../platform/random.ts';
import type { Settings } from '../settings/settings.ts';
import type { Scrubbed, Storage } from '../storage/database.ts';
import { requestScrub, scrubDueAt, scrubRequested } from '../storage/scrubbing.ts';
import { isOpenElsewhere } from '../storage/sqlite/file.ts';
import { readAddress } from './arguments.ts';
import { ExitFault } from './command-errors.ts';
import { type Call, runnerOf } from './command-line.ts';
import { loadSettings, withConfiguredStorage } from './open-store.ts';
import type { Terminal } from './terminal.ts';

export const run = runnerOf({
  invocation: 'npm run erase --',
  description:
    'Erases everything that is stored about a person, by e-mail address: leads and subscriptions with their attempts, the subscriber and its events, pending confirmations, and queued messages. Receipts stay, because they contain nothing that was typed into a form. An argument stays in the history of the shell. To avoid this, use - and give the address on standard input.',
  examples: [
    'npm run erase -- ada@example.com --dry-run',
    'npm run erase -- -',
    'npm run --silent erase -- - --yes --json < address.txt',
  ],
  subcommands: {
    '': {
      description: 'Erase permanently, after a confirmation prompt. - reads the address from standard input.',
      operands: ['email'],
      options: { '--dry-run': 'count only, and erase nothing', '--yes': 'no confirmation prompt' },
      run: erase,
    },
  },
});

type Found = PersonRows & { files: string[] };

async function erase(call: Call): Promise<void> {
  const { terminal } = call;
  const email = await readAddress(call, call.operand('email'), 'The argument is not an e-mail address.');
  const { settings } = loadSettings();
  const dueAt = await withConfiguredStorage((storage) => eraseFrom(storage, settings, email, call));
  if (dueAt !== undefined) await scrubFiles(settings, dueAt, terminal);
  if (settings.upstream.kind === 'http') {
    terminal.say('The receiver at UPSTREAM_URL still stores what it received. Have the data erased there too.');
  }
}

/** Erases the person's data. Returns the time from which the files may be scrubbed, or undefined with `--dry-run`. */
async function eraseFrom(
  storage: Storage,
  settings: Settings,
  email: string,
  { terminal, flag }: Call,
): Promise<Date | undefined> {
  // The folder of local mode is searched in production too, because the service may have run in local mode before.
  const folder = join(settings.dataDir, 'mail');
  const found: Found = { ...(await countPerson(storage, email)), files: await messageFilesTo(folder, email) };
  if (flag('dry-run')) {
    report(terminal, found, true);
    return undefined;
  }
  const isEmpty = countsOf(found).every(([count]) => count === 0);
  if (!isEmpty && !(await terminal.confirm(`Erase ${inWords(found)} permanently?`, flag('yes')))) {
    throw new ExitFault('Nothing was erased.');
  }
  const now = systemClock.now();
  const dueAt = scrubDueAt(storage, now, settings.operatorTimeZone);
  const id = newId();
  const rows = await storage.write(async (tx) => {
    await requestScrub(tx, { id, dueAt });
    return await erasePerson(tx, email, now);
  });
  // The folder is searched again, because a message may have been written meanwhile.
  const files = [...new Set([...found.files, ...(await messageFilesTo(folder, email))])];
  await removeFiles(files);
  report(terminal, { ...rows, files }, false);
  if (rows.sending > 0) terminal.say(UNDER_WAY);
  if (rows.unsubscribed > 0) terminal.say(unsubscribedUndelivered(rows.unsubscribed));
  return dueAt;
}

/**
 * Scrubs the files at once, unless this would block a running service for too long. In that case the running service
 * scrubs them when they are due.
 */
async function scrubFiles({ database, operatorTimeZone }: Settings, dueAt: Date, terminal: Terminal): Promise<void> {
  const isLater = dueAt > systemClock.now();
  if (isLater && database.kind === 'sqlite' && isOpenElsewhere(database.path)) {
    const { shown, zone } = timesIn(operatorTimeZone);
    terminal.say(
      `The rows are deleted. The database file contains traces of them until ${shown(dueAt).text} (${zone}). The running service then rewrites the file, which blocks all other writes.`,
    );
  } else {
    const scrubbed =
      (await withConfiguredStorage((storage) => scrubRequested(storage, dueAt, operatorTimeZone))) ??
      // If the request is gone, the running service has scrubbed the files.
      (database.kind === 'sqlite' ? 'clean' : 'vacuumed');
    if (UNFINISHED.has(scrubbed)) throw new ExitFault(AFTERWARDS[scrubbed]);
    terminal.say(AFTERWARDS[scrubbed]);
  }
  terminal.say(
    'Receipts stay. A receipt contains the Idempotency-Key that its client chose, which should name nobody. Earlier backups still contain the erased data.',
  );
}

function report(terminal: Terminal, found: Found, dryRun: boolean): void {
  const { leads, subscriptions, confirmations, subscribers, unsubscribed, outbox, files } = found;
  const rows = { leads, subscriptions, confirmations, subscribers, unsubscribed_undelivered: unsubscribed, outbox };
  const sentence = `${dryRun ? 'Would be erased' : 'Erased'}: ${inWords(found)}.`;
  const json = { dry_run: dryRun, ...rows, message_files: files.length };
  terminal.print(terminal.json ? JSON.stringify(json) : sentence);
}

function inWords(found: Found): string {
  return countsOf(found)
    .map(([count, noun, where = '']) => `${count} ${noun}${count === 1 ? '' : 's'}${where}`)
    .join(', ');
}

const countsOf = (found: Found): [count: number, noun: string, where?: string][] => [
  [found.leads, 'lead'],
  [found.subscriptions, 'subscription'],
  [found.confirmations, 'pending confirmation'],
  [found.subscribers, 'subscriber'],
  [found.outbox, 'message', ' in the outbox'],
  [found.files.length, 'message file'],
];

const UNDER_WAY =
  'Some submissions were being sent at that moment, and may still arrive at UPSTREAM_URL. Have them erased there too.';

/** If these events never arrive, the receiver continues to write to the person. */
const unsubscribedUndelivered = (count: number) =>
  `${count === 1 ? '1 unsubscribe event' : `${count} unsubscribe events`} had not arrived at UPSTREAM_URL. Remove the person from the list there.`;

const AFTERWARDS: Readonly<Record<Scrubbed, string>> = {
  clean: 'The files of the database contain no traces of the data.',
  held: 'The rows are deleted. Traces of them stay in the write-ahead log, because another process is reading the database. The service tries again within the hour. You can also run this command again after that process has ended.',
  failed:
    'The rows are deleted. The database file still contains traces of them, because it could not be rewritten. A rewrite needs free disk space of the size of the file, and a moment without other writers. The service tries again within the hour. You can also run this command again.',
  vacuumed:
    'VACUUM removed the deleted rows. Free space, write-ahead log and log archives of PostgreSQL may contain traces until they are overwritten or expire.',
  seen: 'The data is erased, but deleted rows remain in the tables because of an older transaction. Examples are a backup, an open psql or a replication slot. Run this command again when that transaction has ended.',
  unvacuumed:
    'The data is erased, but VACUUM did not end in time, or this role may not run it. Autovacuum removes the deleted rows later. To remove them now, run `VACUUM (INDEX_CLEANUP ON) submissions, subscribers, confirmations, messages` in psql as the owner of the tables.',
};

/** Outcomes after which the command must run again. */
const UNFINISHED: ReadonlySet<Scrubbed> = new Set(['held', 'failed', 'seen']);
