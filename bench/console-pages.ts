/**
 * `node bench/console-pages.ts [ROWS] [DATABASE_URL]` measures the pages of the operator's console in the real service,
 * on every database that is available here. By default, a million submissions are stored. A database given by
 * `DATABASE_URL` is filled once and is not deleted. The limits are in reference §23.3. The results for each database
 * are:
 *
 * - the median of seven loads of each page: at most 1,500 ms, or 150 ms with up to 100,000 submissions
 * - the longest wait of a small request during a load, in the load with the shortest such wait: at most 20 ms
 * - the p99 of leads that arrive meanwhile: at most twice the p99 without readers
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { makeLink } from '../src/console/links.ts';
import { systemClock } from '../src/platform/clock.ts';
import { openPostgres } from '../src/storage/postgres/store.ts';
import { openSqlite } from '../src/storage/sqlite/store.ts';
import { databases, dropDatabases } from '../test/support/databases.ts';
import { median } from './compare.ts';
import { LOAD, pagesOf } from './console-paths.ts';
import { fill, filledOf, MONTH_MS } from './console-rows.ts';
import { ask, pace } from './load.ts';
import { paths } from './paths.ts';
import { pinLoad, type Server, startServer } from './processes.ts';
import { series } from './requests.ts';
import { environmentOf, makeDataFolder, SERVICE } from './service.ts';
import { startUpstream } from './upstream.ts';

const [rows = '1000000', url] = process.argv.slice(2);
const LOADS = 7;
/** Pause between small requests. */
const SMALL_PAUSE_MS = 5;
const LEADS_PER_SECOND = 50;
const LEADS_MS = 6_000;
const ROUNDS = 7;
/** Number of tabs of an impatient operator. Each tab loads its next page one second after the previous page. */
const TABS = 3;
const TAB_PAUSE_MS = 1_000;

type Wait = { p50: number; p99: number; read: number };

pinLoad();
const upstream = await startUpstream();
if (url !== undefined) {
  await measure(url);
} else {
  for (const [, create] of databases) {
    const database = await create();
    await measure(database.url).finally(() => database.remove());
  }
  await dropDatabases(process.ppid);
}
upstream.close();

async function measure(databaseUrl: string): Promise<void> {
  const folder = makeDataFolder();
  const [, path] = /^sqlite:(.*)/.exec(databaseUrl) ?? [];
  const storage = path === undefined ? await openPostgres(databaseUrl) : await openSqlite(path, systemClock);
  let filled = await filledOf(storage);
  if (filled.count === 0) {
    filled = { count: Number(rows), began: Date.now() - MONTH_MS };
    await fill(storage, filled);
    if (storage.kind === 'postgres') await vacuum(databaseUrl);
  }
  const baseUrl = 'https://bench.example';
  const link = await makeLink(storage, { name: 'bench', now: new Date(), baseUrl });
  const { kind } = storage;
  await storage.close();

  const service = await startServer(
    SERVICE,
    {
      ...environmentOf(folder.path, upstream.url, 'warn'),
      DATABASE_URL: databaseUrl,
      OPERATOR_CONSOLE: 'on',
      // Waiting and delivered rows must not change.
      REDELIVERY: 'off',
      SUBMISSION_RETENTION_DAYS: '90',
    },
    '/healthz',
  );
  try {
    const cookie = await signIn(service.port, new URL(link).pathname);
    say(`${kind}, ${filled.count} submissions`);
    const pages = pagesOf(filled);
    const allowedMs = filled.count > 100_000 ? 1_500 : 150;
    for (const [what, path] of Object.entries(pages)) await loadPage(service, path, cookie, what, allowedMs);
    await measureLeads(service, Object.values(pages), cookie);
  } finally {
    await service.end('SIGTERM');
    folder.remove();
  }
}

/** Does the work of the server's autovacuum, which runs long before there are a million rows. */
async function vacuum(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('vacuum analyze');
  await client.end();
}

/**
 * Prints the first load of a page since the start, the median of later loads, and the wait of a small request
 * meanwhile.
 */
async function loadPage(service: Server, path: string, cookie: string, what: string, allowedMs: number) {
  const times: number[] = [];
  const waits: number[] = [];
  for (let load = 0; load < LOADS; load += 1) {
    let isOver = false;
    const waiting = worstWait(service.port, () => isOver);
    const began = performance.now();
    await get(service.port, path.replace(LOAD, String(load)), cookie);
    times.push(performance.now() - began);
    isOver = true;
    waits.push(await waiting);
  }
  const [first = 0] = times;
  const middle = median(times);
  const least = Math.min(...waits);
  const ms = (value: number) => `${value.toFixed(1).padStart(7)} ms`;
  const isOut = middle > allowedMs || least > 20;
  say(
    `  ${what.padEnd(34)} median ${ms(middle)}  first ${ms(first)}  least worst wait ${ms(least)}${isOut ? '  OUT' : ''}`,
  );
}

/** Measures the time of leads alone, beside an impatient operator, and beside pages without a pause. */
async function measureLeads(service: Server, pages: readonly string[], cookie: string) {
  const readers = [
    { who: 'alone', tabs: 0, pauseMs: 0 },
    { who: `beside ${TABS} tabs, a page a second in each`, tabs: TABS, pauseMs: TAB_PAUSE_MS },
    { who: 'beside pages without a pause', tabs: 1, pauseMs: 0 },
  ].map((reader) => ({ ...reader, rounds: [] as Wait[] }));
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const { tabs, pauseMs, rounds } of readers) {
      let isOver = false;
      let read = 0;
      const tab = async (from: number) => {
        for (let at = from; !isOver; at += 1) {
          const path = pages[at % pages.length] ?? '';
          await get(service.port, path.replace(LOAD, `${round}0${at}`), cookie);
          read += 1;
          await sleep(pauseMs);
        }
      };
      const reading = Array.from({ length: tabs }, (_, index) => tab(Math.floor((index * pages.length) / tabs)));
      const { p50, p99 } = await leads(service.port);
      isOver = true;
      await Promise.all(reading);
      rounds.push({ p50, p99, read });
    }
  }
  const of = (rounds: readonly Wait[], what: keyof Wait) => median(rounds.map((round) => round[what]));
  const alone = of(readers[0]?.rounds ?? [], 'p99');
  say(`  ${LEADS_PER_SECOND} leads a second, medians of ${ROUNDS} rounds of ${LEADS_MS / 1000} s:`);
  for (const { who, rounds } of readers) {
    const p99 = of(rounds, 'p99');
    const each = rounds.map((round) => round.p99.toFixed(0)).join(', ');
    say(
      `    ${who}: p50 ${of(rounds, 'p50').toFixed(1)} ms, p99 ${p99.toFixed(1)} ms (${(p99 / alone).toFixed(2)}; ${each}), ${of(rounds, 'read')} pages`,
    );
  }
}

/** Submits the form of the sign-in link. Returns the session cookie. */
async function signIn(port: number, path: string): Promise<string> {
  const { head } = await ask(
    { port, connections: 1, status: 303 },
    `POST ${path} HTTP/1.1\r\nHost: bench\r\nSec-Fetch-Site: same-origin\r\nContent-Length: 0\r\n\r\n`,
  );
  const [, cookie = ''] = /\r\nset-cookie: ([^;]*)/i.exec(head) ?? [];
  return cookie;
}

function get(port: number, path: string, cookie: string) {
  const head = `GET ${path} HTTP/1.1\r\nHost: bench\r\nAccept: text/html\r\nCookie: ${cookie}\r\n\r\n`;
  return ask({ port, connections: 1, status: 200 }, head);
}

/**
 * Sends small requests until `isOver` returns true. Returns the longest time of an answer, in milliseconds. The pause
 * leaves the cores to the page, the service and the database.
 */
async function worstWait(port: number, isOver: () => boolean): Promise<number> {
  let worst = 0;
  for (; !isOver(); await sleep(SMALL_PAUSE_MS)) {
    const began = performance.now();
    await get(port, '/healthz', '');
    worst = Math.max(worst, performance.now() - began);
  }
  return worst;
}

function leads(port: number) {
  const path = paths.find((each) => each.name === 'a lead, JSON');
  if (path === undefined) throw new Error('There is no path of leads.');
  const target = { port, connections: path.connections, status: path.status };
  return pace(target, series(path.requests()), LEADS_PER_SECOND, LEADS_MS);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
