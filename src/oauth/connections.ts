/**
 * Stores the connections of hosts with their codes and tokens (reference §26.9). Any instance serves them.
 *
 * 1. One row. A connection, its code and its current refresh token are one row. Using a code and rotating a refresh
 *    token are conditional updates of this row, so only one of two requests succeeds.
 * 2. Second use. If such an update changes nothing, the same transaction deletes the row that the code or the token
 *    belongs to. On PostgreSQL it waits for the first request, so it sees that request's result.
 * 3. End. An access token is valid only while its connection exists. So the end of a connection also ends a token that
 *    another request issues at this moment: either that request has committed, or its update finds no row.
 * 4. Clock. A code or token that is refused because of its age is deleted, so that no step of the wall clock makes it
 *    valid again.
 * 5. Order. Each transaction changes the connection before its access tokens, so that no two transactions lock each
 *    other.
 */
import { CLOCKS_APART_MS, isoTime } from '../platform/clock.ts';
import type { OpenTransaction, ReadOnly, Storage } from '../storage/database.ts';
import type { OauthConnectionRow } from '../storage/oauth-schema.ts';
import { prepareRead } from '../storage/queries.ts';

const CODE_LIFETIME_MS = 60_000;
export const ACCESS_LIFETIME_MS = 60 * 60_000;
const REFRESH_LIFETIME_MS = 90 * 24 * 60 * 60_000;
const MINUTE_MS = 60_000;
/** Number of expired codes that a new connection deletes. */
const DELETED_AT_ONCE = 10;

/** A connection before its code is used. */
export type NewConnection = Pick<
  OauthConnectionRow,
  'id' | 'client' | 'client_id' | 'host' | 'redirect_uri' | 'scope' | 'credential' | 'code_digest' | 'challenge'
>;

/** Digests of new tokens, and the operator's token to which they bind the connection. */
export type Issued = { access: string; refresh: string; credential: string; scope: string };

export type Connections = ReturnType<typeof openConnections>;

/** Opens the connections, whose functions throw `StorageUnavailable`. */
export function openConnections({ storage, clock }: { storage: Storage; clock: { now(): Date } }) {
  const at = (afterMs = 0) => isoTime(clock.now().getTime() + afterMs);
  const byAccessToken = prepareRead(storage, (db, of: { digest: string }) =>
    db
      .selectFrom('oauth_access_tokens as token')
      .innerJoin('oauth_connections as connection', 'connection.id', 'token.connection')
      .select(['connection.id', 'connection.client', 'connection.client_id', 'connection.credential'])
      .select(['connection.last_used_at', 'token.scope', 'token.expires_at'])
      .where('token.digest', '=', of.digest),
  );

  const findBy = async (column: 'code_digest' | 'family_digest', digest: string) => {
    const rows = await storage.read((db) => db.selectFrom('oauth_connections').selectAll().where(column, '=', digest));
    return rows[0];
  };

  /** Changes the row of a used code or refresh token, and stores its access token. Returns false if it was too late. */
  async function issue(
    id: string,
    change: (tx: OpenTransaction) => { executeTakeFirst(): Promise<{ numUpdatedRows: bigint }> },
    { access, scope }: Issued,
  ): Promise<boolean> {
    const token = { digest: access, connection: id, scope, expires_at: at(ACCESS_LIFETIME_MS) };
    return await storage.write(async (tx) => {
      const { numUpdatedRows } = await change(tx).executeTakeFirst();
      if (numUpdatedRows === 0n) await endIn(tx, id);
      else await tx.insertInto('oauth_access_tokens').values(token).execute();
      return numUpdatedRows > 0n;
    });
  }

  /** Ends one access token. Other tokens of its connection stay valid. */
  async function endAccessToken(digest: string): Promise<void> {
    await storage.write(async (tx) => {
      await tx.deleteFrom('oauth_access_tokens').where('digest', '=', digest).execute();
    });
  }

  const renewed = ({ refresh, credential }: Issued) => ({
    refresh_digest: refresh,
    refresh_expires_at: at(REFRESH_LIFETIME_MS),
    credential,
    last_used_at: at(),
  });

  return {
    /**
     * Stores a connection whose code is valid for 60 s. Deletes a few codes that nobody used in time, because anybody can
     * click "Connect" for a named client. So the table grows only by connections that are used.
     */
    async add(connection: NewConnection): Promise<void> {
      const row = { ...connection, code_expires_at: at(CODE_LIFETIME_MS) };
      await storage.write(async (tx) => {
        const unusedInTime = tx
          .selectFrom('oauth_connections')
          .select('id')
          .where('family_digest', 'is', null)
          .where('code_expires_at', '<=', at())
          .limit(DELETED_AT_ONCE);
        await tx.deleteFrom('oauth_connections').where('id', 'in', storage.dialect.skipLocked(unusedInTime)).execute();
        await tx.insertInto('oauth_connections').values(row).execute();
      });
    },

    findByCode: (digest: string) => findBy('code_digest', digest),
    findByFamily: (digest: string) => findBy('family_digest', digest),

    /** Uses a code. Returns false if the code was used or is not valid now, and ends the connection then. */
    async useCode({ id }: { id: string }, family: string, issued: Issued): Promise<boolean> {
      const now = at();
      return await issue(
        id,
        (tx) =>
          tx
            .updateTable('oauth_connections')
            .set({ ...renewed(issued), family_digest: family, connected_at: now })
            .where('id', '=', id)
            .where('code_expires_at', '<=', at(CODE_LIFETIME_MS + CLOCKS_APART_MS))
            .where('family_digest', 'is', null)
            .where('code_expires_at', '>', now),
        issued,
      );
    },

    /** Replaces a refresh token. Returns false if the token was used or has expired, and ends the connection then. */
    async rotate({ id }: { id: string }, used: string, issued: Issued): Promise<boolean> {
      const now = at();
      return await issue(
        id,
        (tx) =>
          tx
            .updateTable('oauth_connections')
            .set(renewed(issued))
            .where('id', '=', id)
            .where('refresh_digest', '=', used)
            .where('refresh_expires_at', '>', now),
        issued,
      );
    },

    /** Finds the connection of an access token. Deletes a token that is not valid now. */
    async findByAccessToken(digest: string) {
      const [found] = await storage.read(byAccessToken({ digest }));
      if (found === undefined) return undefined;
      const leftMs = Date.parse(found.expires_at) - clock.now().getTime();
      if (leftMs > 0 && leftMs <= ACCESS_LIFETIME_MS + CLOCKS_APART_MS) return found;
      await endAccessToken(digest);
      return undefined;
    },

    /** Updates the time of the last request at most once a minute, so that most requests need no commit. */
    async touch({ id, last_used_at: last }: Pick<OauthConnectionRow, 'id' | 'last_used_at'>): Promise<void> {
      const now = clock.now().getTime();
      if (last !== null && now - Date.parse(last) < MINUTE_MS) return;
      await storage.write(async (tx) => {
        await tx
          .updateTable('oauth_connections')
          .set({ last_used_at: isoTime(now) })
          .where('id', '=', id)
          .execute();
      });
    },

    /** Ends a connection with all its tokens. */
    end: (id: string) => storage.write((tx) => endIn(tx, id)),

    endAccessToken,
  };
}

/** Ends a connection with all its tokens, in a transaction. Returns undefined if it has ended before. */
export async function endIn(tx: OpenTransaction, id: string): Promise<{ client: string; host: string } | undefined> {
  const deleted = tx.deleteFrom('oauth_connections').where('id', '=', id).returning(['client', 'host']);
  const ended = await deleted.executeTakeFirst();
  await tx.deleteFrom('oauth_access_tokens').where('connection', '=', id).execute();
  return ended;
}

/** A connection as the console lists it. */
export type ListedConnection = Pick<OauthConnectionRow, 'id' | 'client' | 'host' | 'scope'> & {
  connected_at: string;
  last_used_at: string | null;
};

/** Returns up to `limit` connections whose code was used, the newest first. */
export async function listConnections(
  reader: ReadOnly,
  limit: number,
  before?: { connected_at: string; id: string },
): Promise<ListedConnection[]> {
  return await reader.read((db) => {
    const newest = db
      .selectFrom('oauth_connections')
      .select(['id', 'client', 'host', 'scope', 'last_used_at'])
      .select((row) => row.ref('connected_at').$notNull().as('connected_at'))
      .where('connected_at', 'is not', null)
      .orderBy('connected_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit);
    if (before === undefined) return newest;
    return newest.where((row) =>
      row(row.refTuple('connected_at', 'id'), '<', row.tuple<string | null, string>(before.connected_at, before.id)),
    );
  });
}

/**
 * Deletes expired access tokens, codes that nobody used, and connections whose refresh token has expired.
 * @throws StorageUnavailable
 */
export async function deleteExpired(storage: Storage, now: Date): Promise<void> {
  const at = isoTime(now.getTime());
  await storage.write(async (tx) => {
    await tx
      .deleteFrom('oauth_connections')
      .where((row) =>
        row.or([
          row('refresh_expires_at', '<=', at),
          row.and([row('family_digest', 'is', null), row('code_expires_at', '<=', at)]),
        ]),
      )
      .execute();
    await tx.deleteFrom('oauth_access_tokens').where('expires_at', '<=', at).execute();
  });
}
