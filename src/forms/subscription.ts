/** What `/api/subscribe` takes besides the fields of the newsletter: consent and origin (spec §2.5). */
import { bounds } from './bounds.ts';
import { normalize } from './fields.ts';

/** The values that mean consent, exactly, after trimming. */
export const CONSENT_VALUES: readonly string[] = ['on', 'true', 'yes', '1'];

/**
 * The slug of the originating site (contract §4, "Slug"), in either case: lower-casing first would make
 * ASCII letters of some that are none.
 */
export const SLUG = /^[a-z0-9]+(-[a-z0-9]+)*$/i;

/** Takes the value of `privacy`, undefined where there is none. */
export function isConsent(privacy: string | undefined): boolean {
  return CONSENT_VALUES.includes(normalize(privacy ?? ''));
}

/** Takes the value of `contractor`; returns the originating site's slug, or `direct` where it is none. */
export function originOf(contractor: string | undefined): string {
  const slug = normalize(contractor ?? '');
  const isSlug = slug.length <= bounds.slugLength && SLUG.test(slug);
  return isSlug ? slug.toLowerCase() : 'direct';
}
