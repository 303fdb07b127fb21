/** Times as the operator reads and types them, in their own zone (OPERATOR_TIME_ZONE). */
import { processTimeZone } from '../platform/clock.ts';
import { memoizeLast } from '../platform/lazy.ts';

export type Times = {
  zone: string;
  /** Returns a time as text for people, and as ISO 8601 for programs. */
  shown(at: string | number | Date): { text: string; iso: string };
  /** Returns a time as a list shows it: only the time of today, only the day of this year. `iso` as in `shown`. */
  brief(at: string | number | Date, now: Date): { text: string; full: string; iso: string };
  /** Returns the calendar day of a time, as `2026-12-01`. */
  dayOf(ms: number): string;
  /** Parses a date (its first moment) or a whole ISO 8601 time. Returns undefined for any other text. */
  parse(text: string): Date | undefined;
};

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/**
 * Returns the functions for times in the zone of the setting. Without a setting, uses the process's zone, or UTC if
 * that zone is unknown.
 */
export const timesIn = memoizeLast((setting: string | undefined): Times => {
  const zone = setting ?? processTimeZone() ?? 'UTC';
  const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: zone });
  const day = new Intl.DateTimeFormat('en-CA', { dateStyle: 'short', timeZone: zone });
  const time = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone: zone });
  const dayOfYear = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: zone });
  const date = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: zone });
  return {
    zone,
    shown(at) {
      const moment = new Date(at);
      return { text: format.format(moment), iso: moment.toISOString() };
    },
    brief(at, now) {
      const moment = new Date(at);
      const [own, today] = [day.format(moment), day.format(now)];
      const isThisYear = own.slice(0, 4) === today.slice(0, 4);
      const text = (own === today ? time : isThisYear ? dayOfYear : date).format(moment);
      return { text, full: format.format(moment), iso: moment.toISOString() };
    },
    dayOf: (ms) => day.format(ms),
    parse(text) {
      try {
        if (DATE.test(text)) return new Date(Temporal.PlainDate.from(text).toZonedDateTime(zone).epochMilliseconds);
        return TIME.test(text) ? new Date(Temporal.Instant.from(text).epochMilliseconds) : undefined;
      } catch {
        return undefined;
      }
    },
  };
});
