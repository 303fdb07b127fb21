/** Dates and durations as people write them on a command line. */
import { UsageFault } from './faults.ts';

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;
const DURATION = /^(\d{1,6})(m|h|d)$/;
const MILLISECONDS = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Takes `2027-01-01` (its midnight, UTC) or a whole ISO 8601 time. */
export function parseMoment(option: string, text: string): Date {
  const moment = new Date(text);
  const isDate = DATE.test(text) && moment.toJSON()?.startsWith(text);
  if (isDate || (TIME.test(text) && !Number.isNaN(moment.getTime()))) return moment;
  throw new UsageFault(`${option} must be a date like 2027-01-01 or 2027-01-01T12:00:00Z.`);
}

/** Takes `30m`, `24h` or `7d`; returns milliseconds. */
export function parseDuration(option: string, text: string): number {
  const [, amount, unit] = DURATION.exec(text) ?? [];
  if (amount === undefined) throw new UsageFault(`${option} must be like 30m, 24h or 7d.`);
  return Number(amount) * MILLISECONDS[unit as keyof typeof MILLISECONDS];
}
