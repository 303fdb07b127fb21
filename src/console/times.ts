/** Times as the operator reads and types them: in their own zone (OPERATOR_TIME_ZONE). */
import { keepingLast } from '../once.ts';

export type Times = {
  zone: string;
  /** As people read it, and as a program does. */
  shown(at: string | number): { text: string; iso: string };
  /** The calendar day of a moment, as `2026-12-01`. */
  dayOf(ms: number): string;
  /** A date of the calendar (its first moment), or a whole ISO 8601 time; undefined where it is neither. */
  parse(text: string): Date | undefined;
};

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/** Takes the setting; without one it is the zone of the process. */
export const timesIn = keepingLast((setting: string | undefined): Times => {
  const zone = setting ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  const format = new Intl.DateTimeFormat('en-GB', {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: zone,
  });
  const day = new Intl.DateTimeFormat('en-CA', { dateStyle: 'short', timeZone: zone });
  return {
    zone,
    shown(at) {
      const moment = new Date(at);
      return { text: format.format(moment), iso: moment.toISOString() };
    },
    dayOf: (ms) => day.format(ms),
    parse(text) {
      try {
        if (DATE.test(text)) {
          const start = Temporal.PlainDate.from(text).toZonedDateTime(zone);
          return new Date(start.epochMilliseconds);
        }
        return TIME.test(text)
          ? new Date(Temporal.Instant.from(text).epochMilliseconds)
          : undefined;
      } catch {
        return undefined;
      }
    },
  };
});
