/** How the driver is told where PostgreSQL is. */

/** It takes these for `verify-full`, which is stricter, and prints eight lines about it. */
const TAKEN_AS_VERIFY_FULL = /([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/;

/** Takes `DATABASE_URL`; returns the address that means the same to the driver, which then has nothing to say. */
export function driverAddress(url: string): string {
  // What libpq would do is the driver's as well, where the address asks for it.
  if (/[?&]uselibpqcompat=true(?:&|$)/.test(url)) return url;
  return url.replace(TAKEN_AS_VERIFY_FULL, '$1verify-full');
}
