/**
 * Sign-in and sessions (reference §12.3). A session is a row, so that every instance can read it. Ending the session
 * makes a stolen cookie invalid too. The times of a session come from the process's wall clock.
 */
import { LINK_COMMAND } from '../failures/page-problems.ts';
import { CLOCKS_APART_MS, isoTime } from '../platform/clock.ts';
import { type OpenTransaction, type Storage, StorageUnavailable } from '../storage/database.ts';
import type { OperatorSessionRow } from '../storage/operation-schema.ts';
import { prepareRead } from '../storage/queries.ts';
import { type AuditParts, committer } from './audit.ts';
import { digestOfToken, newToken } from './links.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Longest time without a request (`IDLE_MS`), and longest total time of a session (reference §12.3). */
const IDLE_MS = DAY_MS / 2;
export const LIFETIME_MS = 7 * DAY_MS;
/** Time after the sign-in for which a session is fresh. Exports, deletions and changes of clients need a fresh session. */
const FRESH_MS = 60 * MINUTE_MS;

export type Session = OperatorSessionRow;

export type Sessions = ReturnType<typeof openSessions>;

/** Opens the sessions, whose functions throw `StorageUnavailable`. */
export function openSessions({ storage, clock, newId }: AuditParts) {
  const commit = committer({ storage, clock, newId });
  const byDigest = prepareRead(storage, (db, of: { digest: string }) =>
    db.selectFrom('operator_sessions').selectAll().where('digest', '=', of.digest),
  );

  /** Updates the time of the last request at most once a minute, so that most pages need no commit. */
  async function updateLastSeen(session: Session, nowMs: number): Promise<void> {
    if (nowMs - Date.parse(session.last_seen_at) < MINUTE_MS) return;
    await storage.write(async (tx) => {
      await tx
        .updateTable('operator_sessions')
        .set({ last_seen_at: isoTime(nowMs) })
        .where('digest', '=', session.digest)
        .where('last_seen_at', '<', isoTime(nowMs))
        .execute();
    });
  }

  return {
    /** Returns the session of a cookie's token, if it is valid. Without `extend`, the session ends no later. */
    async find(token: string, { extend = true } = {}): Promise<Session | undefined> {
      const digest = digestOfToken(token);
      const session = digest && (await storage.read(byDigest({ digest })))[0];
      const nowMs = clock.now().getTime();
      if (!session || !isAlive(session, nowMs)) return undefined;
      if (extend) await updateLastSeen(session, nowMs).catch(ignoreUnavailable);
      return session;
    },

    /**
     * Marks a sign-in link as used. Returns the value of the new cookie and the link's page, or undefined if the link
     * is invalid.
     */
    async signIn(
      linkToken: string,
      oldToken: string | undefined,
    ): Promise<{ token: string; page: string | null } | undefined> {
      const digest = digestOfToken(linkToken);
      if (digest === undefined) return undefined;
      const now = clock.now().getTime();
      const token = newToken();
      const oldDigest = oldToken === undefined ? undefined : digestOfToken(oldToken);
      let page: string | null = null;
      const refused = await commit(async (tx) => {
        // The link's row stays locked until the commit, so that a concurrent `signOutEverywhere` waits for the new
        // session.
        const link = await tx
          .updateTable('operator_links')
          .set({ used_at: isoTime(now) })
          .where('digest', '=', digest)
          .where('used_at', 'is', null)
          .where('expires_at', '>', isoTime(now))
          .where('created_at', '<=', isoTime(now + CLOCKS_APART_MS))
          .returning(['name', 'mailed', 'page'])
          .executeTakeFirst();
        if (link === undefined) {
          // The link is deleted, so that no step of the clock makes it valid again.
          const unused = tx.deleteFrom('operator_links').where('digest', '=', digest).where('used_at', 'is', null);
          await unused.execute();
          return { refused: 'link not good' };
        }
        page = link.page;
        // This deletion ends the browser's previous session.
        if (oldDigest !== undefined) {
          await tx.deleteFrom('operator_sessions').where('digest', '=', oldDigest).execute();
        }
        const session = {
          digest: digestOfToken(token) ?? '',
          name: link.name,
          mailed: link.mailed,
          signed_in_at: isoTime(now),
          last_seen_at: isoTime(now),
          result: null,
          undo: null,
        };
        await tx.insertInto('operator_sessions').values(session).execute();
        return { entry: { name: link.name, what: 'signed_in' } };
      });
      return refused === undefined ? { token, page } : undefined;
    },

    /** Returns all sessions that are valid now, of every name, the last used first. */
    async active(): Promise<Session[]> {
      const nowMs = clock.now().getTime();
      const all = await storage.read((db) =>
        db.selectFrom('operator_sessions').selectAll().orderBy('last_seen_at', 'desc'),
      );
      return all.filter((session) => isAlive(session, nowMs));
    },

    /** Returns the result of the session's last change, once. */
    async takeResult({ digest, result }: Session): Promise<string | undefined> {
      if (result === null) return undefined;
      const taken = await storage.write(async (tx) => {
        const cleared = tx.updateTable('operator_sessions').set({ result: null });
        return await cleared.where('digest', '=', digest).where('result', '=', result).executeTakeFirst();
      });
      return taken.numUpdatedRows > 0n ? result : undefined;
    },

    async signOut({ digest, name }: Session): Promise<void> {
      await commit(async (tx) => {
        await tx.deleteFrom('operator_sessions').where('digest', '=', digest).execute();
        return { entry: { name, what: 'signed_out' } };
      });
    },

    /**
     * Ends all sessions of the operator and deletes their unused links. An operator is a name together with a kind of
     * link. So `jo@x.example` from a mailed link and `jo@x.example` from a printed link are two operators.
     */
    async signOutEverywhere({ name, mailed }: Session): Promise<void> {
      await commit(async (tx) => {
        // The links are deleted first. This statement waits for a concurrent sign-in, whose session the second
        // statement then deletes.
        await tx.deleteFrom('operator_links').where('name', '=', name).where('mailed', '=', mailed).execute();
        await tx.deleteFrom('operator_sessions').where('name', '=', name).where('mailed', '=', mailed).execute();
        return { entry: { name, what: 'signed_out_everywhere' } };
      });
    },
  };
}

/**
 * Ignores a failed update of the last request, so that pages work while the store can only be read. The session does
 * not last longer.
 */
export function ignoreUnavailable(error: unknown): undefined {
  if (!(error instanceof StorageUnavailable)) throw error;
}

/** Stores the result of a change for the next page of the session. The result replaces an earlier one. */
export async function setResult(
  tx: OpenTransaction,
  { digest }: Session,
  { text, undo = null }: { text: string; undo?: string | null },
): Promise<void> {
  await tx.updateTable('operator_sessions').set({ result: text, undo }).where('digest', '=', digest).execute();
}

/** Way to a new sign-in link: by mail, with a link that returns to `page`, or by the command. */
export type FreshLink = { email: string; page: string } | { command: string };

/** Returns how the operator of a session gets a new sign-in link. */
export function freshLinkOf({ name, mailed }: Session, page: string): FreshLink {
  return mailed === 1 ? { email: name, page } : { command: LINK_COMMAND };
}

/** Returns true if the sign-in link was used within the last hour (reference §12.4). */
export function isFresh({ signed_in_at }: Pick<Session, 'signed_in_at'>, now: Date): boolean {
  return now.getTime() - Date.parse(signed_in_at) < FRESH_MS;
}

function isAlive({ last_seen_at, signed_in_at }: Session, nowMs: number): boolean {
  return nowMs - Date.parse(last_seen_at) < IDLE_MS && nowMs - Date.parse(signed_in_at) < LIFETIME_MS;
}

/**
 * Deletes expired sessions and links, and audit entries that are older than the retention of receipts.
 * @throws StorageUnavailable
 */
export async function deleteExpired(storage: Storage, { nowMs, days }: { nowMs: number; days: number }): Promise<void> {
  const signedInBefore = isoTime(nowMs - LIFETIME_MS);
  const seenBefore = isoTime(nowMs - IDLE_MS);
  await storage.write(async (tx) => {
    await tx.deleteFrom('operator_links').where('expires_at', '<=', isoTime(nowMs)).execute();
    await tx
      .deleteFrom('operator_sessions')
      .where((row) => row.or([row('signed_in_at', '<=', signedInBefore), row('last_seen_at', '<=', seenBefore)]))
      .execute();
    await tx
      .deleteFrom('operator_audit')
      .where('at', '<', isoTime(nowMs - days * DAY_MS))
      .execute();
  });
}
