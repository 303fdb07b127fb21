/** Stores claims and settlements, each in one commit with its submission (see `database.ts`). */
import type { Database } from './database.ts';
import type { Submission, Submissions } from './submissions.ts';

export type Claim = {
  client: string;
  key: string;
  digest: string;
  at: string;
  statement: string;
  destination: string;
};

const LEASE_MS = 15_000;

export type Receipts = {
  /**
   * Claims the key and the preview. Resolves once the claim is durable. Resolves to false if the key or the preview was
   * claimed before.
   */
  claim(claim: Claim, submission: Submission): Promise<boolean>;
  settle(claim: Claim, id: string, isConfirmed: boolean, attempt: string): Promise<boolean>;
};

export function openReceipts({ prepare, write }: Database, submissions: Submissions): Receipts {
  const insert = prepare(
    `insert into executions (action_id, action, client, idempotency_key, preview_digest, status, created_at,
       confirmation_text, confirmed_via, destination, sandbox, settled_at, lease_started_ms, lease_ms)
     values (?, 'contact', ?, ?, ?, 'executing', ?, ?, 'agent', ?, 0, null, ?, ?) on conflict do nothing`,
  );
  const update = prepare(
    `update executions set status = ?, settled_at = ?
     where preview_digest = ? and action_id = ? and status = 'executing'`,
  );
  return {
    claim: ({ client, key, digest, at, statement, destination }, submission) =>
      write(() => {
        const lease = performance.now();
        const { changes } = insert.run(
          ...[submission.id, client, key, digest, at, statement, destination, lease, LEASE_MS],
        );
        if (changes === 0) return false;
        submissions.insert(submission);
        return true;
      }),
    settle: ({ digest }, id, isConfirmed, attempt) =>
      write(() => {
        const status = isConfirmed ? 'submitted' : 'failed';
        if (update.run(status, new Date().toISOString(), digest, id).changes === 0) return false;
        return submissions.end(id, isConfirmed ? 'delivered' : 'undelivered', attempt);
      }),
  };
}
