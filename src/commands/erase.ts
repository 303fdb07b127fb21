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
    'Erases what is kept of a person, found by their e-mail address: leads and subscriptions with what became of them, a subscriber and the events about them, what they were asked to confirm, and confirmation messages. Receipts stay: they hold nothing that was typed into a form. An argument stays in the shell’s history; give - and the address on standard input instead.',
  examples: [
    'npm run erase -- ada@example.com --dry-run',
    'npm run erase -- -',
    'npm run --silent erase -- - --yes --json < address.txt',
  ],
  subcommands: {
    '': {
      description: 'erases for good, after asking; - reads the address from standard input',
      operands: ['email'],
      options: { '--dry-run': 'only count what would go', '--yes': 'do not ask' },
      run: erase,
    },
  },
});

type Found = PersonRows & { files: string[] };

async function erase(call: Call): Promise<void> {
  const { terminal } = call;
  const email = await readAddress(call, call.operand('email'), 'That is not an e-mail address.');
  const { settings } = loadSettings();
  const dueAt = await withConfiguredStorage((storage) => eraseFrom(storage, settings, email, call));
  if (dueAt !== undefined) await scrubFiles(settings, dueAt, terminal);
  if (settings.upstream.kind === 'http') {
    terminal.say('What was sent to UPSTREAM_URL is kept there: have it erased there too.');
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
  if (!isEmpty && !(await terminal.confirm(`Erase ${inWords(found)} for good?`, flag('yes')))) {
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
      `The rows are deleted. The database file keeps traces of them until the running service rewrites it: on ${shown(dueAt).text} (${zone}), as nobody else can write meanwhile.`,
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
    'Receipts stay; an Idempotency-Key in one is its client’s own choice, and should name nobody. Backups made before hold what was erased.',
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
  [found.confirmations, 'pending question'],
  [found.subscribers, 'subscriber'],
  [found.outbox, 'confirmation', ' in the outbox'],
  [found.files.length, 'message file'],
];

const UNDER_WAY =
  'Some of it was being sent at that moment, and may still arrive at UPSTREAM_URL: have it erased there too.';

/** If these events never arrive, the receiver continues to write to the person. */
const unsubscribedUndelivered = (count: number) =>
  `${count} of it said that they have left the newsletter, and had not arrived at UPSTREAM_URL: take them off the list there.`;

const AFTERWARDS: Readonly<Record<Scrubbed, string>> = {
  clean: 'Nothing of it is left in the database’s files.',
  held: 'The rows are deleted. Traces of them stay in the write-ahead log, because another process is reading the database. The service tries again within the hour, or run this again when that has ended.',
  failed:
    'The rows are deleted. The database file keeps traces of them, because it could not be rewritten: this needs as much free disk space again, and a moment without other writers. The service tries again within the hour, or run this again.',
  vacuumed:
    'The dead rows were vacuumed away. PostgreSQL’s free space, its write-ahead log and archives of it may hold remains until they are overwritten or expire.',
  seen: 'It is erased, but its dead rows are still in the tables: a transaction that began before (a backup, a forgotten psql, a replication slot) keeps them. Run this again when that has ended.',
  unvacuumed:
    'It is erased, but VACUUM did not end in time, or is not this role’s to run: the dead rows go with autovacuum, or with `VACUUM (INDEX_CLEANUP ON) submissions, subscribers, confirmations, messages` in psql as the tables’ owner.',
};

/** Outcomes after which the command must run again. */
const UNFINISHED: ReadonlySet<Scrubbed> = new Set(['held', 'failed', 'seen']);
