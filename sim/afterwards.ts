/** What happens once the faults have stopped: what waits ends by its schedule, messages come, receipts go. */
import { askOnce, askUntilFinal, type Crowd } from './asking.ts';
import { checkFinal, checkKept, checkMails } from './ending.ts';
import type { MailWorld } from './mail.ts';
import type { Place } from './places.ts';
import type { Watch } from './promises.ts';
import { readReceipts } from './receipts.ts';
import { RETENTION_DAYS } from './service.ts';
import type { Store } from './store.ts';

const DAY_MS = 86_400_000;
/** Redelivery looks every five seconds, and rests for a minute. */
const LOOKS_WITHIN_MS = 6_000;
const RESTS_MS = 60_000;
/** Of rows and steps: more than there can be. */
const LEAPS_MAXIMUM = 600;

type Afterwards = {
  crowd: Crowd;
  store: Store;
  watched: Watch;
  places: readonly Place[];
  people: ReadonlySet<Promise<void>>;
  /** Undefined where no messages are sent. */
  mailWorld: MailWorld | undefined;
  /** How long the longest lease and the next sweep take. */
  finalWithinMs: number;
  onError(error: unknown): void;
};

/** Waits for the end of everything, and judges it. */
export async function conclude(parts: Afterwards): Promise<void> {
  const { crowd, store, watched, places, people, mailWorld } = parts;
  const { ledger, scheduler } = crowd;
  await scheduler.sleep(parts.finalWithinMs);
  while (people.size > 0) await Promise.all(people);
  for (const key of ledger.keys) await askUntilFinal(crowd, key, places.length);
  await waitForCommits(parts);
  checkFinal(store, ledger);
  await waitForRedelivery(parts);
  await waitForCommits(parts);
  checkKept(store, ledger, watched.rows);
  if (mailWorld !== undefined) {
    await waitForMails(parts, mailWorld);
    await waitForCommits(parts);
    checkMails(store, ledger);
  }
  // By now some may be gone, by their age.
  for (const key of ledger.keys) await readReceipts(crowd, key, { mayBeGone: true });
  await outliveRetention(parts);
}

/** Nothing can be read beside an open transaction; promise 7: each ends. */
async function waitForCommits({ crowd, store }: Afterwards): Promise<void> {
  for (let times = 0; times < 1_000; times += 1) {
    if (store.read('select 1 from executions limit 1') !== undefined) return;
    await crowd.scheduler.sleep(2);
  }
  crowd.ledger.violate(7, 'a transaction is still open');
}

type Open = { status: string; due: number | null; asked: number | null };

/** Leaps from one moment at which something is due to the next. */
async function waitForRedelivery({ crowd, store, watched, mailWorld }: Afterwards): Promise<void> {
  const { scheduler, ledger } = crowd;
  const { medium } = store;
  const began = scheduler.time();
  for (let leaps = 0; leaps < LEAPS_MAXIMUM; leaps += 1) {
    const open = store.read<Open>(
      `select status, next_attempt_ms due, resend_asked_ms asked from submissions
       where status in ('sending', 'waiting') or (resend_asked_ms is not null and status <> 'dismissed')`,
    );
    if (open?.length === 0) return;
    const isUnderWay = open?.some(({ status }) => status === 'sending') ?? true;
    const areMails = (mailWorld?.underWay ?? 0) > 0;
    const due = Math.min(
      ...(open ?? []).map(({ due, asked }) => (asked === null ? (due ?? 0) : 0)),
    );
    const inMs = due - medium.wallClock(undefined);
    // What is under way ends first: a leap would be a pause of every process.
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

/** Leaps from back-off to back-off: nothing else would happen meanwhile. */
async function waitForMails({ crowd, store }: Afterwards, mailWorld: MailWorld): Promise<void> {
  const { scheduler } = crowd;
  const pending = () => store.read("select 1 from messages where status = 'pending'")?.length !== 0;
  for (let leaps = 0; leaps < 24 && pending(); leaps += 1) {
    // What is under way arrives first: a leap would make it later than any server is.
    while (mailWorld.underWay > 0) await scheduler.sleep(100);
    scheduler.leap(leaps < 6 ? 300_000 : DAY_MS / 2);
    await scheduler.sleep(4_000);
  }
}

/** After their retention receipts go, and nothing that is asked again is sent again. */
async function outliveRetention({ crowd, watched, places, onError }: Afterwards): Promise<void> {
  watched.allowRetention();
  crowd.scheduler.leap((RETENTION_DAYS + 1) * DAY_MS);
  await places
    .find(({ service }) => service)
    ?.service?.retain()
    .catch(onError);
  const [key] = crowd.ledger.keys;
  if (key !== undefined) await askOnce(crowd, { ...key, receipts: new Set() }, 5_000);
}
