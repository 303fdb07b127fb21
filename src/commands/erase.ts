/** `npm run erase`: what is kept of a person, found by their e-mail address, and erased for good. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../clock.ts';
import { countPerson, erasePerson, type PersonRows } from '../confirmations/person.ts';
import { messageFilesTo, removeFiles } from '../mail/erasure.ts';
import type { Settings } from '../settings/settings.ts';
import { type Scrubbed, type Storage, StorageUnavailable } from '../storage/database.ts';
import { addressAsStored } from './addresses.ts';
import type { Call, Command } from './command.ts';
import { runCommand } from './command-line.ts';
import { loadSettings } from './configuration.ts';
import { ExitFault, UsageFault } from './faults.ts';
import { withStorage } from './storage.ts';
import type { Terminal } from './terminal.ts';

const command: Command = {
  invocation: 'npm run erase --',
  meaning:
    'Erases what is kept of a person, found by their e-mail address: leads and subscriptions with what became of them, a subscriber and the events about them, what they were asked to confirm, and confirmation messages. Receipts stay: they hold nothing that was typed into a form. An argument stays in the shell’s history; give - and the address on standard input instead.',
  examples: [
    'npm run erase -- ada@example.com --dry-run',
    'npm run erase -- -',
    'npm run --silent erase -- - --yes --json < address.txt',
  ],
  actions: {
    '': {
      meaning: 'erases for good, after asking; - reads the address from standard input',
      operands: ['email'],
      options: {
        'dry-run': { type: 'boolean', meaning: 'only count what would go' },
        yes: { type: 'boolean', meaning: 'do not ask' },
      },
      run: erase,
    },
  },
};

/** Takes the arguments after the command's name. */
export function run(argv: readonly string[]): Promise<number> {
  return runCommand(command, argv);
}

/** What there is of one person. */
type Found = PersonRows & { files: string[] };

async function erase(call: Call): Promise<void> {
  const { terminal } = call;
  const email = await addressOf(call);
  const { settings } = loadSettings();
  const { database } = settings;
  if (database.kind === 'sqlite' && !existsSync(database.path)) {
    throw new ExitFault(`There is no database yet at ${database.path}: \`npm start\` makes it.`);
  }
  try {
    await withStorage(settings, (storage) => eraseFrom(storage, settings, email, call));
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    throw new ExitFault(
      `The database can’t be used: ${error.message} Check DATABASE_URL, DATA_DIR and the disk, and run this again.`,
    );
  }
  if (settings.upstream.kind === 'http') {
    terminal.say('What was sent to UPSTREAM_URL is kept there: have it erased there too.');
  }
}

async function addressOf({ terminal, operand }: Call): Promise<string> {
  const given = operand('email');
  const written = given === '-' ? await terminal.readLine('E-mail address:') : given;
  const email = addressAsStored(written);
  // Not repeated: standard error may end in a log.
  if (email === undefined) throw new UsageFault('That is not an e-mail address.');
  return email;
}

async function eraseFrom(storage: Storage, settings: Settings, email: string, call: Call) {
  const { terminal } = call;
  // The folder of local mode: production may have been local once.
  const folder = join(settings.dataDir, 'mail');
  const found: Found = {
    ...(await countPerson({ storage, clock: systemClock }, email)),
    files: await messageFilesTo(folder, email),
  };
  if (call.flag('dry-run')) return report(terminal, found, true);
  if (!isNothing(found)) {
    const sure = await terminal.confirm(`Erase ${inWords(found)} for good?`, call.flag('yes'));
    if (!sure) throw new ExitFault('Nothing was erased.');
  }
  const now = systemClock.now();
  const rows = await storage.write((tx) => erasePerson(storage, tx, email, now));
  // Looked for again: a message may have been under way.
  const files = [...new Set([...found.files, ...(await messageFilesTo(folder, email))])];
  await removeFiles(files);
  const scrubbed = await storage.scrub();
  report(terminal, { ...rows, files }, false);
  if (rows.sending > 0) terminal.say(UNDER_WAY);
  if (rows.unsubscribed > 0) terminal.say(leftUnheard(rows.unsubscribed));
  conclude(terminal, scrubbed);
}

function report(terminal: Terminal, found: Found, dryRun: boolean): void {
  const { leads, subscriptions, confirmations, subscribers, unsubscribed, outbox, files } = found;
  const counts = {
    leads,
    subscriptions,
    confirmations,
    subscribers,
    unsubscribed_undelivered: unsubscribed,
    outbox,
    message_files: files.length,
  };
  const sentence = `${dryRun ? 'Would be erased' : 'Erased'}: ${inWords(found)}.`;
  terminal.print(terminal.json ? JSON.stringify({ dry_run: dryRun, ...counts }) : sentence);
}

function inWords(found: Found): string {
  const { leads, subscriptions, confirmations, subscribers, outbox, files } = found;
  const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'}`;
  return `${count(leads, 'lead')}, ${count(subscriptions, 'subscription')}, ${count(confirmations, 'pending question')}, ${count(subscribers, 'subscriber')}, ${count(outbox, 'confirmation')} in the outbox, ${count(files.length, 'message file')}`;
}

function isNothing(found: Found): boolean {
  const { leads, subscriptions, confirmations, subscribers, outbox, files } = found;
  return leads + subscriptions + confirmations + subscribers + outbox + files.length === 0;
}

const UNDER_WAY =
  'Some of it was being sent at that moment, and may still arrive at UPSTREAM_URL: have it erased there too.';

/** Else they go on being written to. */
const leftUnheard = (count: number) =>
  `${count} of it said that they have left the newsletter, and had not arrived at UPSTREAM_URL: take them off the list there.`;

const AFTERWARDS: Readonly<Record<Scrubbed, string>> = {
  clean: 'Nothing of it is left in the database’s files.',
  held: 'It is erased, but its remains are still in the write-ahead log: another process is reading the database. Run this again when that has ended.',
  failed:
    'It is erased, but its remains are still in the database’s files: rewriting them takes as much free disk space again, and a moment without other writers. Run this again then.',
  vacuumed:
    'The dead rows were vacuumed away. PostgreSQL’s free space, its write-ahead log and archives of it may hold remains until they are overwritten or expire.',
  seen: 'It is erased, but its dead rows are still in the tables: a transaction that began before (a backup, a forgotten psql, a replication slot) keeps them. Run this again when that has ended.',
  unvacuumed:
    'It is erased, but VACUUM did not end in time, or is not this role’s to run: the dead rows go with autovacuum, or with `VACUUM (INDEX_CLEANUP ON) submissions, subscribers, confirmations, inbox, messages, outbox` in psql as the tables’ owner.',
};

function conclude(terminal: Terminal, scrubbed: Scrubbed): void {
  const isLeft = scrubbed === 'held' || scrubbed === 'failed' || scrubbed === 'seen';
  if (isLeft) throw new ExitFault(AFTERWARDS[scrubbed]);
  terminal.say(AFTERWARDS[scrubbed]);
  terminal.say(
    'Receipts stay; an Idempotency-Key in one is its client’s own choice, and should name nobody. Backups made before hold what was erased.',
  );
}
