/**
 * Who is signed in (beyond §7). A session is a row, so that every instance knows it and its end is the end of the
 * cookie, whoever holds that. Its times are the process's wall clock.
 */
import { isoTime } from '../clock.ts';
import { type Storage, StorageUnavailable } from '../storage/database.ts';
import type { OperatorSessionRow } from '../storage/operator-schema.ts';
import { prepareRead } from '../storage/prepare-query.ts';
import { recordIn } from './audit.ts';
import { forgetEnded, IDLE_MS, LIFETIME_MS } from './forget.ts';
import { digestOfToken, newToken } from './tokens.ts';

const MINUTE_MS = 60_000;

/** To export and to delete, the link must be that young. */
const RECENT_MS = 60 * MINUTE_MS;

export type Session = OperatorSessionRow;

export type Sessions = {
  /** Whose cookie that is; undefined where nobody is signed in by it. */
  find(token: string): Promise<Session | undefined>;
  /** Uses a link up; returns the value of the new cookie, or undefined where the link is not good. */
  signIn(linkToken: string, oldToken: string | undefined): Promise<string | undefined>;
  /** All that could be used now, of whatever name, the last to have come first. */
  active(): Promise<Session[]>;
  /** Ends this one. */
  signOut(session: Session): Promise<void>;
  /** Ends all of that name, and its unused links. */
  signOutEverywhere(session: Session): Promise<void>;
};

/** Its functions throw `StorageUnavailable`. */
export function openSessions(
  storage: Storage,
  { clock, newId }: { clock: { now(): Date }; newId: () => string },
): Sessions {
  const byDigest = prepareRead(storage, (db, of: { digest: string }) =>
    db.selectFrom('operator_sessions').selectAll().where('digest', '=', of.digest),
  );

  /** Once a minute at most: a page costs no commit. */
  async function seen(session: Session, nowMs: number): Promise<void> {
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
    async find(token) {
      const digest = digestOfToken(token);
      const session = digest && (await storage.read(byDigest({ digest })))[0];
      const nowMs = clock.now().getTime();
      if (!session || !isAlive(session, nowMs)) return undefined;
      await seen(session, nowMs).catch(unlessAway);
      return session;
    },

    async signIn(linkToken, oldToken) {
      const digest = digestOfToken(linkToken);
      if (digest === undefined) return undefined;
      const now = clock.now().getTime();
      const token = newToken();
      const old = oldToken === undefined ? undefined : digestOfToken(oldToken);
      const id = newId();
      const isGood = await storage.write(async (tx) => {
        const link = await tx
          .updateTable('operator_links')
          .set({ used_at: isoTime(now) })
          .where('digest', '=', digest)
          .where('used_at', 'is', null)
          .where('expires_at', '>', isoTime(now))
          .returning(['name', 'created_at'])
          .executeTakeFirst();
        if (link === undefined) return false;
        await forgetEnded(tx, now);
        // Whoever was signed in on this browser is so no longer.
        if (old !== undefined) {
          await tx.deleteFrom('operator_sessions').where('digest', '=', old).execute();
        }
        const session = {
          digest: digestOfToken(token) ?? '',
          name: link.name,
          linked_at: link.created_at,
          signed_in_at: isoTime(now),
          last_seen_at: isoTime(now),
        };
        await tx.insertInto('operator_sessions').values(session).execute();
        await recordIn(tx, { id, at: isoTime(now), name: link.name, what: 'signed_in' });
        return true;
      });
      return isGood ? token : undefined;
    },

    async active() {
      const nowMs = clock.now().getTime();
      const all = await storage.read((db) =>
        db.selectFrom('operator_sessions').selectAll().orderBy('last_seen_at', 'desc'),
      );
      return all.filter((session) => isAlive(session, nowMs));
    },

    async signOut({ digest, name }) {
      const id = newId();
      const at = isoTime(clock.now().getTime());
      await storage.write(async (tx) => {
        await tx.deleteFrom('operator_sessions').where('digest', '=', digest).execute();
        await recordIn(tx, { id, at, name, what: 'signed_out' });
      });
    },

    async signOutEverywhere({ name }) {
      const id = newId();
      const at = isoTime(clock.now().getTime());
      await storage.write(async (tx) => {
        await tx.deleteFrom('operator_sessions').where('name', '=', name).execute();
        await tx.deleteFrom('operator_links').where('name', '=', name).execute();
        await recordIn(tx, { id, at, name, what: 'signed_out_everywhere' });
      });
    },
  };
}

/** Where nothing can be written, what needs somebody can still be read; the session lasts no longer by it. */
function unlessAway(error: unknown): void {
  if (!(error instanceof StorageUnavailable)) throw error;
}

/** Whether its link is young enough for what takes data away (beyond §7). */
export function isRecent({ linked_at }: Session, now: Date): boolean {
  return now.getTime() - Date.parse(linked_at) < RECENT_MS;
}

function isAlive({ last_seen_at, signed_in_at }: Session, nowMs: number): boolean {
  return (
    nowMs - Date.parse(last_seen_at) < IDLE_MS && nowMs - Date.parse(signed_in_at) < LIFETIME_MS
  );
}
