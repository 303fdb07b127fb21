/** The further values of `/api/subscribe`: consent and originating site (reference §2.8). */
import { bounds } from './bounds.ts';
import { normalize } from './fields.ts';

/** Values of `privacy` that mean consent. They are compared exactly, after trimming. */
export const CONSENT_VALUES: readonly string[] = ['on', 'true', 'yes', '1'];

/** A site's slug, in either case (reference §2.8). Lower-casing first would turn some other letters into ASCII. */
export const SLUG = /^[a-z0-9]+(-[a-z0-9]+)*$/i;

/** Returns true if the value of `privacy` means consent. */
export function isConsent(privacy: string | undefined): boolean {
  return CONSENT_VALUES.includes(normalize(privacy ?? ''));
}

/** Returns the slug in the value of `contractor`, or `direct` if the value is no slug. */
export function originOf(contractor: string | undefined): string {
  const slug = normalize(contractor ?? '');
  return slug.length <= bounds.slugLength && SLUG.test(slug) ? slug.toLowerCase() : 'direct';
}
