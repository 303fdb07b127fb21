/** Links that sign an operator in once (beyond §7). Whoever can make one has the database already. */
import { isoTime } from '../clock.ts';
import { isBlank, lengthOf, normalize } from '../forms/fields.ts';
import { pathTo, routes } from '../routes.ts';
import type { Storage } from '../storage/database.ts';
import { digestOfToken, newToken } from './tokens.ts';

/** Beyond §7. */
const LIFETIME_MS = 15 * 60_000;
const NAME_LENGTH = 80;

/** Takes what was typed; returns it as it is kept, or undefined where it is not 1 to 80 visible characters. */
export function nameOfOperator(typed: string): string | undefined {
  const name = normalize(typed);
  if (isBlank(name) || lengthOf(name) > NAME_LENGTH || /[\p{C}\p{Zl}\p{Zp}]/u.test(name)) {
    return undefined;
  }
  return name;
}

/** Makes one for that name; returns its whole address. Throws `StorageUnavailable`. */
export async function makeLink(
  storage: Storage,
  { name, now, baseUrl }: { name: string; now: Date; baseUrl: string },
): Promise<string> {
  const token = newToken();
  const at = now.getTime();
  await storage.write(async (tx) => {
    await tx
      .insertInto('operator_links')
      .values({
        digest: digestOfToken(token) ?? '',
        name,
        created_at: isoTime(at),
        expires_at: isoTime(at + LIFETIME_MS),
        used_at: null,
      })
      .execute();
  });
  return baseUrl + pathTo(routes.signInPage, { token });
}
