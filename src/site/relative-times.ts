/**
 * Relative times, because the service does not know the time zone of a visitor. `assets/times.js` adds the exact time.
 */
import { waitWords } from './form-words.ts';
import { escapeHtml } from './interpolate.ts';

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

/** Returns the duration until a time as HTML, such as `58 minutes`. The script adds `exact`, and fills in its `{time}`. */
export function remaining(until: Date, now: Date, lang: string, exact: string): string {
  const seconds = Math.max(0, until.getTime() - now.getTime()) / 1000;
  return timeElement(until, waitWords(seconds, lang), exact);
}

/** Returns a past time as HTML, such as `2 minutes ago`. The first two minutes are `1 minute ago`. */
export function ago(at: Date, now: Date, lang: string): string {
  const ms = Math.max(60_000, now.getTime() - at.getTime());
  const [unit, unitMs] = UNITS.find(([, size]) => ms >= size) ?? (['minute', 60_000] as const);
  return timeElement(at, new Intl.RelativeTimeFormat(lang).format(-Math.floor(ms / unitMs), unit), '({time})');
}

function timeElement(at: Date, text: string, exact: string): string {
  return `<time datetime="${at.toISOString()}" data-exact="${escapeHtml(exact)}">${escapeHtml(text)}</time>`;
}
