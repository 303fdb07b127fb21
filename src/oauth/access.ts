/** Checks the access tokens of requests for the tools (reference §26.7). */
import { bearerToken, type Credentials, type Delegation } from '../credentials/file.ts';
import type { Log } from '../platform/log.ts';
import { StorageUnavailable } from '../storage/database.ts';
import type { Connections } from './connections.ts';
import { digestOfSecret } from './secrets.ts';

export type AccessParts = { connections: Connections; credentials: Credentials; log: Log };

/**
 * Returns the authority of an access token. Takes every `Authorization` line of a request. If the client or its
 * credential is gone or has expired, ends the connection.
 * @throws StorageUnavailable
 */
export async function checkAccess(
  { connections, credentials, log }: AccessParts,
  lines: readonly string[],
): Promise<Delegation | 'invalid'> {
  const digest = digestOfSecret(bearerToken(lines) ?? '');
  const found = digest && (await connections.findByAccessToken(digest));
  if (!found) return 'invalid';
  const { client, credential, scope } = found;
  if (credential === null || (await findHolder(credentials, credential, client)) === undefined) {
    await connections.end(found.id);
    log.info({ client }, 'connection ended because its credential is gone');
    return 'invalid';
  }
  await connections.touch(found).catch(ignoreUnavailable);
  return { client, credential, scopes: new Set(scope.split(' ')) };
}

/**
 * Finds the client of a credential by the SHA-256 of its token, in hex. Returns undefined if the credential is gone, has
 * expired or belongs to another client. Another instance may know a newer credentials file, so the file is read again
 * before a credential counts as gone.
 */
export async function findHolder(credentials: Credentials, digest: string, client: string) {
  const holder = credentials.find(digest);
  if (holder?.name === client) return holder;
  await credentials.reload();
  const found = credentials.find(digest);
  return found?.name === client ? found : undefined;
}

/** Ignores a failed update of the last request, so that tools which only read work while the store can only be read. */
function ignoreUnavailable(error: unknown): void {
  if (!(error instanceof StorageUnavailable)) throw error;
}
