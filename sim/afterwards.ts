/**
 * Ends a run after its faults have stopped. Waiting rows end by their schedule, messages arrive, and receipts expire.
 */
import { type Crowd, executeOnce, executeUntilFinal, fieldsOf } from './asking.ts';
import { checkConnections } from './connection-rows.ts';
import { checkFinal, checkMails, checkStored } from './ending.ts';
import type { Extras } from './extras.ts';
import { checkTables } from './leaving.ts';
import type { MailWorld } from './mail.ts';
import type { Place } from './places.ts';
import type { Watch } from './promises.ts';
import { readReceipts } from './receipts.ts';
import { RETENTION_DAYS } from './service.ts';
import type { Store } from './store.ts';
import { checkUnlisted } from './testing.ts';
import { checkSignIns } from './working.ts';

const DAY_MS = 86_400_000;
/** Redelivery searches for due rows every 5 s. Redelivery pauses for 60 s after an attempt that got no HTTP status. */
const LOOKS_WITHIN_MS = 6_000;
const RESTS_MS = 60_000;
/** Limit for the number of leaps. This limit exceeds the number of retries that the rows of a run can have. */
const LEAPS_MAXIMUM = 600;

type Afterwards = {
  crowd: Crowd;
  store: Store;
  watched: Watch;
  places: readonly Place[];
  people: ReadonlySet<Promise<void>>;
  /** Undefined if the run sends no messages. */
  mailWorld: MailWorld | undefined;
  extras: Extras;
  hasTester: boolean;
  /** Duration of the longest lease and the next recovery sweep, in milliseconds. */
  finalWithinMs: number;
  onError(error: unknown): void;
};

/** Waits until everything has ended, and checks the invariants that must hold then. */
export async function conclude(parts: Afterwards): Promise<void> {
  const { crowd, store, watched, places, people, mailWorld, extras } = parts;
  const { ledger, scheduler } = crowd;
  await scheduler.sleep(parts.finalWithinMs);
  while (people.size > 0) await Promise.all(people);
  for (const key of ledger.keys) await executeUntilFinal(crowd, key, places.length);
  await sendToEach(parts);
  await waitForCommits(parts);
  checkFinal(store, ledger);
  if (extras.hosts > 0) checkConnections(store, ledger);
  if (parts.hasTester) await checkUnlisted(crowd, store);
  await waitForRedelivery(parts);
  await waitForCommits(parts);
  checkStored(store, ledger, watched.rows);
  if (mailWorld !== undefined) {
    await waitForMails(parts, mailWorld);
    await waitForCommits(parts);
    checkMails(store, ledger);
  }
  if (extras.operators > 0) checkSignIns(store, ledger);
  if (ledger.hasLeft) checkTables(store, ledger);
  // Retention may have deleted some receipts by now.
  for (const key of ledger.keys) await readReceipts(crowd, key, { mayBeGone: true });
  await outliveRetention(parts);
}

/** Checks invariant 7: no process waits forever for a failed write, so each process stores a new submission. */
async function sendToEach({ places, watched, crowd }: Afterwards): Promise<void> {
  for (const { name, service } of places) {
    if (service === undefined) continue;
    const email = `${name.replace(' ', '')}@last.example`;
    await service.post('lead', { form: 'contact', ...fieldsOf(email) });
    // The watch reads the rows after each event of the run.
    await crowd.scheduler.sleep(1);
    if (watched.rows.of(email).length > 0) continue;
    crowd.ledger.violate(7, `${name} does not store what it is sent once the faults have stopped`);
  }
}

/** Waits until no transaction is open, because rows can't be read before. Checks invariant 7: each transaction ends. */
async function waitForCommits({ crowd, store }: Afterwards): Promise<void> {
  for (let times = 0; times < 1_000; times += 1) {
    if (store.read('select 1 from executions limit 1') !== undefined) return;
    await crowd.scheduler.sleep(2);
  }
  crowd.ledger.violate(7, 'a transaction is still open');
}

type Open = { status: string; due: number | null; asked: number | null };

/** Moves time from one due attempt to the next until no submission waits. */
async function waitForRedelivery({ crowd, store, watched, mailWorld }: Afterwards): Promise<void> {
  const { scheduler, ledger } = crowd;
  const { medium } = store;
  const began = scheduler.time();
  for (let leaps = 0; leaps < LEAPS_MAXIMUM; leaps += 1) {
    const open = store.read<Open>(
      `select status, next_attempt_ms due, resend_asked_ms asked from submissions
       where status in ('sending', 'waiting') or resend_asked_ms is not null`,
    );
    if (open?.length === 0) return;
    const isUnderWay = open?.some(({ status }) => status === 'sending') ?? true;
    const areMails = (mailWorld?.underWay ?? 0) > 0;
    const due = Math.min(...(open ?? []).map(({ due, asked }) => (asked === null ? (due ?? 0) : 0)));
    const inMs = due - medium.wallClock(undefined);
    // Attempts in progress end first, because a leap would pause every process.
    if (isUnderWay || areMails) await scheduler.sleep(1_000);
    else {
      const lasts = scheduler.time() - began + Math.max(inMs, 0);
      if (lasts > (RETENTION_DAYS / 2) * DAY_MS) watched.allowRetention();
      if (inMs > 0) scheduler.leap(inMs + 1);
      else if (leaps > 0) scheduler.leap(RESTS_MS);
      await scheduler.sleep(LOOKS_WITHIN_MS);
    }
  }
  ledger.violate(7, 'what waits does not end');
}

/** Moves time from one back-off of the outbox to the next, because nothing else happens in between. */
async function waitForMails({ crowd, store }: Afterwards, mailWorld: MailWorld): Promise<void> {
  const { scheduler } = crowd;
  const pending = () => store.read("select 1 from messages where status = 'pending'")?.length !== 0;
  for (let leaps = 0; leaps < 24 && pending(); leaps += 1) {
    // Messages in transit arrive first. A leap would delay messages in transit for longer than any server does.
    while (mailWorld.underWay > 0) await scheduler.sleep(100);
    scheduler.leap(leaps < 6 ? 300_000 : DAY_MS / 2);
    await scheduler.sleep(4_000);
  }
}

/**
 * Moves time beyond the retention period, after which the service deletes the receipts. A repeated execution must not
 * send again.
 */
async function outliveRetention({ crowd, watched, places, onError }: Afterwards): Promise<void> {
  watched.allowRetention();
  crowd.scheduler.leap((RETENTION_DAYS + 1) * DAY_MS);
  await places
    .find(({ service }) => service)
    ?.service?.retain()
    .catch(onError);
  const [key] = crowd.ledger.keys;
  if (key !== undefined) await executeOnce(crowd, { ...key, receipts: new Set() }, 5_000);
}
