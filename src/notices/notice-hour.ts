/**
 * The hour of the notices (beyond §2): it begins with its first notice, twenty of it are sent, and from the 21st
 * on they are counted for one summary at its end. Pure: rows in, rows out.
 */

/** How many notices of an hour are sent. */
const NOTICES_AN_HOUR = 20;
const HOUR_MS = 3_600_000;

export type NoticeHour = {
  /** ISO 8601; null while none runs. */
  began_at: string | null;
  sent: number;
  /** How many were counted, by form. */
  counted: Readonly<Record<string, number>>;
};

/** A notice that has no place in an hour yet. */
export type Unplaced = { key: string; form: string; requested_at: string };

type Placed = {
  hour: NoticeHour;
  /** The keys of those that are sent, and of those that are counted instead. */
  send: string[];
  count: string[];
  /** Hours that have ended and had more than were sent. */
  summaries: { began_at: string; counted: NoticeHour['counted'] }[];
};

/**
 * Whether an hour that began then has ended by now. One that seems to begin an hour from now was begun by a wall
 * clock that was ahead, and would keep everybody silent until then.
 */
export function hasEnded(began_at: string, now: Date): boolean {
  return Math.abs(now.getTime() - Date.parse(began_at)) >= HOUR_MS;
}

/** Takes the hour and what came, the oldest first; `isAll`: nothing is left that came before now. */
export function place(hour: NoticeHour, came: readonly Unplaced[], now: Date, isAll: boolean) {
  const placed: Placed = { hour, send: [], count: [], summaries: [] };
  for (const { key, form, requested_at } of came) {
    endHour(placed, new Date(requested_at));
    const { began_at, sent, counted } = placed.hour;
    if (began_at === null) {
      placed.hour = { began_at: requested_at, sent: 1, counted: {} };
      placed.send.push(key);
    } else if (sent < NOTICES_AN_HOUR) {
      placed.hour = { began_at, sent: sent + 1, counted };
      placed.send.push(key);
    } else {
      const more = { ...counted, [form]: (counted[form] ?? 0) + 1 };
      placed.hour = { began_at, sent, counted: more };
      placed.count.push(key);
    }
  }
  if (isAll) endHour(placed, now);
  return placed;
}

function endHour(placed: Placed, by: Date): void {
  const { began_at, counted } = placed.hour;
  if (began_at === null || !hasEnded(began_at, by)) return;
  if (Object.keys(counted).length > 0) placed.summaries.push({ began_at, counted });
  placed.hour = { began_at: null, sent: 0, counted: {} };
}
