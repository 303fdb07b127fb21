/** Sentences of forms, and waits in words. The script in the browser shows the same sentences as a refused page. */
import type { Field } from '../forms/catalog.ts';
import type { Fault } from '../forms/validate.ts';
import { fillIn } from './interpolate.ts';
import type { Words } from './words.ts';

export type FaultKind = Fault['kind'];
export type FormWords = Words['form'];

/** A result that the person sees above the form: the fields are valid, but the form was not accepted. */
export type NoticeKind = keyof FormWords['notices'];

/** Returns the sentence for an invalid value. The placeholder `{count}` stays in the sentence. */
export function faultSentence(words: FormWords, field: Field, kind: FaultKind, lang: string) {
  const isOpenChoice = kind === 'missing' && field.kind === 'choice';
  return fillIn(words.faults[isOpenChoice ? 'missingChoice' : kind], {
    label: field.label,
    maximum: field.maximum.toLocaleString(lang),
  });
}

/** Returns seconds as whole minutes in words of that language, such as `12 minutes`. */
export function waitWords(seconds: number, lang: string): string {
  return inUnits(Math.ceil(seconds / 60), 'minute', lang);
}

/**
 * Returns seconds in words of that language, such as `90 seconds`, `15 minutes` or `24 hours`. The function uses the
 * largest unit that fits exactly once or at least twice, and rounds up.
 */
export function shortWait(seconds: number, lang: string): string {
  const fits = (size: number) => seconds === size || seconds >= 2 * size;
  if (fits(3600)) return inUnits(Math.ceil(seconds / 3600), 'hour', lang);
  return fits(60) ? waitWords(seconds, lang) : inUnits(seconds, 'second', lang);
}

function inUnits(count: number, unit: 'hour' | 'minute' | 'second', lang: string): string {
  return new Intl.NumberFormat(lang, { style: 'unit', unit, unitDisplay: 'long' }).format(count);
}
