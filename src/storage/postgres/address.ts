/** How the driver is told where PostgreSQL is. */

/** What the service's connections are called in `pg_stat_activity`, by which a restore sees whether it runs. */
export const APPLICATION_NAME = 'lead-intake';

/** The driver would take it for its own setting. */
const OTHER_NAME = /(?<=[?&])application_name=[^&]*&?/g;

/** It takes these for `verify-full`, which is stricter, and prints eight lines about it. */
const TAKEN_AS_VERIFY_FULL = /([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/;

/** Takes `DATABASE_URL`; returns the address that means the same to the driver, which then has nothing to say. */
export function driverAddress(url: string): string {
  const named = url.replaceAll(OTHER_NAME, '').replace(/[?&]$/, '');
  // What libpq would do is the driver's as well, where the address asks for it.
  if (/[?&]uselibpqcompat=true(?:&|$)/.test(named)) return named;
  return named.replace(TAKEN_AS_VERIFY_FULL, '$1verify-full');
}
