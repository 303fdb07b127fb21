/**
 * `node bench/console.ts [ROWS]`: what the pages of the operator's console read, with a million submissions kept,
 * on every database that answers here: the median of seven loads, and the longest that the one thread was held
 * meanwhile (beyond §7 allows 100 ms and 20).
 */
import { setImmediate as turn } from 'node:timers/promises';
import { systemClock } from '../src/clock.ts';
import { notArrived } from '../src/submissions/attention.ts';
import { openDailyCounts } from '../src/submissions/daily-counts.ts';
import { submissionPage } from '../src/submissions/listing.ts';
import type { SubmissionFilter } from '../src/submissions/listing-queries.ts';
import { parseSearch } from '../src/submissions/search.ts';
import { databases } from '../test/support/databases.ts';
import { fill, idAt, idOf, MONTH_MS } from './console-rows.ts';

const ROWS = Number(process.argv[2] ?? 1_000_000);
const LOADS = 7;
const PAGE_ROWS = 50;

for (const [name, create] of databases) {
  const database = await create();
  const storage = await database.open(systemClock);
  const began = Date.now() - MONTH_MS;
  await fill(storage, ROWS, began);
  process.stdout.write(`${name}, ${ROWS} submissions\n`);
  const reading = { storage, clock: systemClock };
  const page = (filter: SubmissionFilter) => () =>
    submissionPage(reading, filter, { limit: PAGE_ROWS });
  const search = (typed: string) => page({ search: parseSearch(typed) });
  const middle = { received_ms: Date.now() - MONTH_MS / 2, id: idOf(0, 0) };
  const countDays = openDailyCounts(reading);
  const loads: Record<string, () => Promise<unknown>> = {
    'attention, undelivered': () => notArrived(storage, 'undelivered'),
    'attention, waiting': () => notArrived(storage, 'waiting'),
    'by day, first of all': () => openDailyCounts(reading)('America/New_York'),
    'by day': () => countDays('America/New_York'),
    'the newest': page({}),
    'in the middle': () => submissionPage(reading, {}, { limit: PAGE_ROWS, before: middle }),
    'a form': page({ form: 'contact' }),
    'an origin': page({ origin: 'agent' }),
    'an origin, in the middle': () =>
      submissionPage(reading, { origin: 'agent' }, { limit: PAGE_ROWS, before: middle }),
    'a status': page({ status: 'dismissed' }),
    'all three': page({ status: 'undelivered', form: 'contact', origin: 'browser' }),
    'a time': page({ since: new Date(middle.received_ms), until: new Date() }),
    'a reference': search(idAt(77, ROWS, began)),
    'a telephone number': search('+1 (555) 000-0077'),
    'an address': search('person0000077@example.com'),
    'the beginning of one': search('person0000077@'),
    'of 100,000, all old': search('person00'),
    'of all': search('person'),
    'a word of one': search(`needle${ROWS - 77}`),
    'a word of nobody': search('nowhere'),
    'a word of everybody': search('terrace'),
    'a word of an agent’s': page({ origin: 'agent', search: parseSearch('nowhere') }),
    'words like those of the event': search('recipient'),
  };
  for (const [what, load] of Object.entries(loads)) {
    const times: number[] = [];
    const waits: number[] = [];
    for (let loadNumber = 0; loadNumber < LOADS; loadNumber += 1) {
      const { ms, waitMs } = await measured(load);
      times.push(ms);
      waits.push(waitMs);
    }
    const median = times.sort((one, other) => one - other)[(LOADS - 1) / 2] ?? 0;
    process.stdout.write(
      `  ${what.padEnd(32)} median ${median.toFixed(1).padStart(7)} ms  least worst wait ${Math.min(
        ...waits,
      )
        .toFixed(1)
        .padStart(6)} ms\n`,
    );
  }
  await storage.close();
  await database.remove();
}

/** How long it takes, and the longest that something else had to wait for its turn. */
async function measured(load: () => Promise<unknown>): Promise<{ ms: number; waitMs: number }> {
  let waitMs = 0;
  let over = false;
  const watching = (async () => {
    while (!over) {
      const before = performance.now();
      await turn();
      waitMs = Math.max(waitMs, performance.now() - before);
    }
  })();
  const began = performance.now();
  await load();
  const ms = performance.now() - began;
  over = true;
  await watching;
  return { ms, waitMs };
}
