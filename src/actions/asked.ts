/**
 * Executions that wait for the person's own press (beyond §4). Asking is the claim's own statement, so that a
 * client's key and a preview are taken by it; whatever ends the waiting is one conditional update of a row that
 * is `asked`. The press itself is a claim: it stands in `executions.ts`.
 */
import { type Clock, isoTime } from '../clock.ts';
import type { Storage } from '../storage/database.ts';
import { prepareRead } from '../storage/prepare-query.ts';
import { type ClaimRequest, rowOfRequest } from './claim.ts';
import type { prepareExecutionQueries } from './execution-queries.ts';
import { type AskedRow, DUE_AT_ONCE, type Ending, prepareEndings } from './press-queries.ts';
import { prepareReport } from './reports.ts';

/** So many may wait for one client (beyond §4). */
const PENDING_MAXIMUM = 200;

type AskRequest = ClaimRequest &
  Omit<AskedRow, 'mailbox_digest' | 'expires_at'> & {
    /** The digests of the mailbox: the first is kept. */
    mailboxes: readonly string[];
    lifetimeMs: number;
  };

export type AskResult =
  | {
      kind: 'asked';
      createdAt: string /** How many others of the client it has ended. */;
      ended: number;
    }
  /** The key or the preview. */
  | { kind: 'taken' }
  | { kind: 'tooMany'; retryAfterSeconds: number };

export type Asked = {
  /** Asks for a confirmation, and ends the client's earlier one for the same action and mailbox. */
  ask(request: AskRequest): Promise<AskResult>;
  /** Ends one that is asked; false where it was pressed or ended before. */
  end(confirmation: { id: string }, status: Ending): Promise<boolean>;
  /** The person's "I did not ask for this": ends it and keeps the report, both or neither. */
  report(confirmation: { id: string; client: string; mailbox_digest: string }): Promise<boolean>;
  /** Ends those whose time has ended; returns how many. */
  expire(): Promise<number>;
};

type AskedParts = {
  storage: Storage;
  clock: Clock;
  queries: Pick<ReturnType<typeof prepareExecutionQueries>, 'ask'>;
};

/** Its functions throw `StorageUnavailable`. */
export function openAsked({ storage, clock, queries }: AskedParts): Asked {
  const endings = prepareEndings(storage);
  const addReport = prepareReport(storage);
  const pendingOf = prepareRead(storage, (db, of: { client: string; now: string }) =>
    db
      .selectFrom('confirmations')
      .select(['id', 'action', 'mailbox_digest', 'expires_at'])
      .where('client', '=', of.client)
      .where('fields', 'is not', null)
      .where('expires_at', '>', of.now)
      .orderBy('created_at'),
  );
  const now = () => isoTime(clock.now().getTime());

  /** The execution's row first, as a press has it: two that come together wait for one another. */
  async function endOne(id: string, status: Ending, settled_at: string): Promise<boolean> {
    return await storage.write(async (tx) => {
      if ((await tx.change(endings[status]({ id, settled_at }))) === 0) return false;
      await tx.change(endings.forget({ id }));
      return true;
    });
  }

  return {
    async ask(request) {
      storage.requireRoom();
      const createdAt = now();
      const { client, action, mailboxes, via, destination, fields, email } = request;
      const { secret_digest, lifetimeMs } = request;
      const mailbox_digest = mailboxes[0] ?? '';
      const expires_at = isoTime(Date.parse(createdAt) + lifetimeMs);
      const asked = { via, destination, fields, email, secret_digest, mailbox_digest, expires_at };
      const row = { ...rowOfRequest(request, createdAt), ...asked };
      return await storage.write(async (tx): Promise<AskResult> => {
        const { heldUntilCommit } = storage.dialect;
        // Two of one client that come together: the later one sees the earlier.
        const held = heldUntilCommit(`confirmations of ${client}`);
        await tx.selectNoFrom(held.as('held')).execute();
        const pending = (await tx.executeQuery(pendingOf({ client, now: createdAt }).read)).rows;
        const earlier = pending.filter(
          (each) => each.action === action && mailboxes.includes(each.mailbox_digest),
        );
        const [oldest] = pending;
        if (oldest !== undefined && pending.length - earlier.length >= PENDING_MAXIMUM) {
          const ms = Date.parse(oldest.expires_at) - Date.parse(createdAt);
          return { kind: 'tooMany', retryAfterSeconds: Math.max(1, Math.ceil(ms / 1000)) };
        }
        if ((await tx.change(queries.ask(row))) === 0) return { kind: 'taken' };
        let ended = 0;
        for (const { id } of earlier) {
          ended += await tx.change(endings.expired({ id, settled_at: createdAt }));
          await tx.change(endings.forget({ id }));
        }
        return { kind: 'asked', createdAt, ended };
      });
    },

    end: ({ id }, status) => endOne(id, status, now()),

    async report({ id, client, mailbox_digest }) {
      const reported_at = now();
      return await storage.write(async (tx) => {
        const ended = await tx.change(endings.reported({ id, settled_at: reported_at }));
        if (ended === 0) return false;
        await tx.change(endings.forget({ id }));
        await tx.change(addReport({ client, mailbox_digest, reported_at }));
        return true;
      });
    },

    async expire() {
      let ended = 0;
      for (;;) {
        const settled_at = now();
        const due = await storage.read(endings.due({ now: settled_at }));
        if (due.length === 0) return ended;
        // One by one: of several instances none waits for what another one has.
        for (const { id } of due) if (await endOne(id, 'expired', settled_at)) ended += 1;
        if (due.length < DUE_AT_ONCE) return ended;
      }
    },
  };
}
