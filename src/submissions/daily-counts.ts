/**
 * How many submissions came on each of the last days, by origin: the picture on the console's first page (beyond
 * §7). Counted in an index, a piece at a time. What is older than a minute changes only by erasure and retention:
 * its count is kept for a while, and what came since is added to it. Whoever asks waits for a moment: of a million
 * the first count takes longer, and is told to who looks again.
 */
import type { Clock } from '../clock.ts';
import type { Log } from '../operations/log.ts';
import { matching } from './listing-queries.ts';
import { inTurn, oldestPieces, type Reading } from './pieces.ts';

type DayCounts = {
  /** The day of the calendar in that time zone, as `2026-12-01`. */
  date: string;
  browser: number;
  agent: number;
};

/** What was counted, and when; an old one is told while it is counted anew. */
export type Picture = { days: DayCounts[]; at: Date; isOld: boolean };

const DAYS = 30;
const PIECE_ROWS = 4_000;
const KEPT_MS = 600_000;
/** A page may take 100, with all else that it reads (beyond §7). */
const WAITED_MS = 40;
/** Of several instances one may commit so much later than it received. */
const UNSETTLED_MS = 60_000;

type Counts = Omit<DayCounts, 'date'>;
type Part = { since: Date; until: Date };
type Kept = Counts & {
  /** Up to there it is counted. */
  until: Date;
  /** On the monotonic clock. */
  beganAt: number;
};

export type DailyCounts = {
  /**
   * Takes an IANA time zone; returns each of the last 30 days, the oldest first and today the last. Where that takes
   * longer than a moment, it is what was counted last; undefined where nothing was. Throws `StorageUnavailable`, and
   * `RangeError` for what is no time zone; once nobody waits any more, it is logged instead.
   */
  picture(timeZone: string): Promise<Picture | undefined>;
  /** Begins to count for who asks in a moment. Where that fails, it is logged. */
  begin(timeZone: string): void;
};

/** Opens the counts, which keep what they have counted. */
export function openDailyCounts(
  parts: Reading & {
    clock: Pick<Clock, 'turn' | 'now' | 'monotonic' | 'sleep'>;
    log: Pick<Log, 'error'>;
  },
): DailyCounts {
  const { clock, log } = parts;
  const kept = new Map<number, Kept>();
  /** Those who ask at once are answered by one count. */
  const asked = new Map<string, Promise<Picture>>();
  const last = new Map<string, Picture>();
  /** Counts of which somebody does not wait for the end. */
  const left = new WeakSet<Promise<Picture>>();

  async function countDay({ since, until }: Part, now: Date): Promise<Counts> {
    const settled = earlier(until, new Date(now.getTime() - UNSETTLED_MS));
    if (settled <= since) return await count(parts, { since, until });
    const before = kept.get(since.getTime()) ?? {
      ...none,
      until: since,
      beganAt: clock.monotonic(),
    };
    const come = await count(parts, { since: before.until, until: settled });
    const sum = { ...before, ...added(before, come), until: settled };
    kept.set(since.getTime(), sum);
    return added(sum, await count(parts, { since: settled, until }));
  }

  async function countDays(timeZone: string): Promise<Picture> {
    for (const [day, { beganAt }] of kept) {
      if (clock.monotonic() - beganAt >= KEPT_MS) kept.delete(day);
    }
    const now = clock.now();
    const days: DayCounts[] = [];
    for (const { date, ...day } of lastDays(now, timeZone)) {
      days.push({ date, ...(await countDay(day, now)) });
    }
    last.set(timeZone, { days, at: now, isOld: true });
    return { days, at: now, isOld: false };
  }

  function counted(timeZone: string): Promise<Picture> {
    const running = asked.get(timeZone);
    if (running !== undefined) return running;
    const counting = countDays(timeZone).finally(() => asked.delete(timeZone));
    asked.set(timeZone, counting);
    return counting;
  }

  /** Its failure is logged, once for all who do not wait. */
  function leave(counting: Promise<Picture>): void {
    if (left.has(counting)) return;
    left.add(counting);
    counting.catch((err) => log.error({ err }, 'the days could not be counted'));
  }

  return {
    async picture(timeZone) {
      const counting = counted(timeZone);
      const picture = await Promise.race([counting, clock.sleep(WAITED_MS).then(() => undefined)]);
      if (picture !== undefined) return picture;
      leave(counting);
      return last.get(timeZone);
    },

    begin: (timeZone) => leave(counted(timeZone)),
  };
}

const none: Counts = { browser: 0, agent: 0 };

function added(one: Counts, other: Counts): Counts {
  return { browser: one.browser + other.browser, agent: one.agent + other.agent };
}

function earlier(one: Date, other: Date): Date {
  return one < other ? one : other;
}

/** A day of the calendar begins when it does there: some have 23 hours, some 25. */
function lastDays(now: Date, timeZone: string): (Part & { date: string })[] {
  const today = Temporal.Instant.fromEpochMilliseconds(now.getTime())
    .toZonedDateTimeISO(timeZone)
    .toPlainDate();
  const beginningOf = (date: Temporal.PlainDate) =>
    new Date(date.toZonedDateTime(timeZone).epochMilliseconds);
  return Array.from({ length: DAYS }, (_, index) => {
    const date = today.subtract({ days: DAYS - 1 - index });
    const until = beginningOf(date.add({ days: 1 }));
    return { date: date.toString(), since: beginningOf(date), until };
  });
}

async function count(reading: Reading, part: Part): Promise<Counts> {
  if (part.until <= part.since) return none;
  const { storage } = reading;
  let counts = none;
  for await (const piece of oldestPieces(reading, part, { rows: PIECE_ROWS })) {
    const [of] = await inTurn(reading, () =>
      storage.read((db) =>
        matching(storage, db, part, piece).select((row) => {
          const isAgent = row.case().when('origin', '=', 'agent').then(1).else(0).end();
          return [row.fn.countAll<number>().as('rows'), row.fn.sum<number>(isAgent).as('agents')];
        }),
      ),
    );
    const agent = Number(of?.agents ?? 0);
    counts = added(counts, { agent, browser: Number(of?.rows ?? 0) - agent });
  }
  return counts;
}
