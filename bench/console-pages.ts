/**
 * `node bench/console-pages.ts [ROWS]`: the pages of the operator's console as a browser loads them from the real
 * service, with a million submissions kept, on every database that answers here: the median of seven loads, the least
 * of their worst waits of a small request, and what leads that come in meanwhile wait (beyond §7 allows 100 ms, 20 ms
 * and twice as long as without).
 */
import { systemClock } from '../src/clock.ts';
import { makeLink } from '../src/console/links.ts';
import { databases } from '../test/support/databases.ts';
import { fill, idAt, MONTH_MS } from './console-rows.ts';
import { ask, pace } from './load.ts';
import { paths } from './paths.ts';
import { pinLoad, startServer } from './processes.ts';
import { series } from './requests.ts';
import { environmentOf, makeDataFolder, SERVICE } from './service.ts';
import { startUpstream } from './upstream.ts';

const ROWS = Number(process.argv[2] ?? 1_000_000);
const LOADS = 7;
const LEADS_PER_SECOND = 50;
const LEADS_MS = 10_000;
const NUMBER = ROWS / 2 + 77;

const began = Date.now() - MONTH_MS;
const someId = idAt(NUMBER, ROWS, began);
const person = `person${String(NUMBER).padStart(7, '0')}`;
const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);

pinLoad();
const upstream = await startUpstream();
for (const [name, create] of databases) {
  const database = await create();
  const folder = makeDataFolder();
  const storage = await database.open(systemClock);
  await fill(storage, ROWS, began);
  const baseUrl = 'https://bench.example';
  const link = await makeLink(storage, { name: 'bench', now: new Date(), baseUrl });
  await storage.close();

  const environment = {
    ...environmentOf(folder.path, upstream.url, 'warn'),
    DATABASE_URL: database.url,
    OPERATOR_CONSOLE: 'on',
    // What waits, and what has arrived, stays as it is.
    REDELIVERY: 'off',
    SUBMISSION_RETENTION_DAYS: '90',
  };
  const service = await startServer(SERVICE, environment, '/healthz');
  try {
    const cookie = await signIn(service.port, new URL(link).pathname);
    const open = (path: string) => get(service.port, path, cookie);
    process.stdout.write(`${name}, ${ROWS} submissions\n`);
    for (const path of pagesOf()) {
      const times: number[] = [];
      const waits: number[] = [];
      for (let load = 0; load < LOADS; load += 1) {
        let isOver = false;
        const waiting = worstWait(service.port, () => isOver);
        const began = performance.now();
        await open(path);
        times.push(performance.now() - began);
        isOver = true;
        waits.push(await waiting);
      }
      const median = times.sort((one, other) => one - other)[(LOADS - 1) / 2] ?? 0;
      const cells = `median ${median.toFixed(1).padStart(7)} ms  least worst wait ${Math.min(
        ...waits,
      )
        .toFixed(1)
        .padStart(6)} ms`;
      process.stdout.write(`  ${path.padEnd(60)} ${cells}\n`);
    }

    const alone = await leads(service.port);
    let isOver = false;
    const reading = (async () => {
      for (let turn = 0; !isOver; turn += 1) await open(pagesOf()[turn % pagesOf().length] ?? '');
    })();
    const beside = await leads(service.port);
    isOver = true;
    await reading;
    const ratio = beside.p99 / alone.p99;
    process.stdout.write(
      `  ${LEADS_PER_SECOND} leads a second, p99: alone ${alone.p99.toFixed(1)} ms, while pages are read ${beside.p99.toFixed(1)} ms (${ratio.toFixed(2)})\n`,
    );
  } finally {
    await service.end('SIGTERM');
    folder.remove();
    await database.remove();
  }
}
upstream.close();

function pagesOf(): string[] {
  return [
    '/operator',
    '/operator/leads',
    '/operator/leads?form=contact',
    '/operator/leads?origin=agent',
    '/operator/leads?status=undelivered&form=contact&origin=browser',
    `/operator/leads?since=${day(20)}&until=${day(10)}`,
    `/operator/leads?q=${someId}`,
    '/operator/leads?q=%2B1+(555)+000-0077',
    `/operator/leads?q=${person}%40example.com`,
    '/operator/leads?q=person00',
    `/operator/leads?q=needle${ROWS - NUMBER}`,
    '/operator/leads?q=terrace',
    '/operator/leads?q=nowhere',
    '/operator/leads?q=nowhere&status=delivered',
    `/operator/leads/${someId}`,
    `/operator/people/${someId}`,
    '/operator/agents',
    '/operator/confirmations',
    '/operator/subscribers',
    '/operator/messages',
    '/operator/audit',
  ];
}

/** Presses the button of the link; returns what a browser sends from then on. */
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

/** Asks for little, again and again; returns the longest that an answer took. */
async function worstWait(port: number, isOver: () => boolean): Promise<number> {
  let worst = 0;
  while (!isOver()) {
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
