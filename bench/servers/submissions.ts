/** Stores a submission before it is sent, and marks it afterwards (see `database.ts`). */
import type { Database } from './database.ts';

const LEASE_MS = 15_000;

export type Submission = {
  id: string;
  fields: Record<string, string>;
  event: string;
  /**
   * Digest of the fields, which detects a person's second try. Null for an execution, which has no lease except the
   * lease of its claim.
   */
  digest: string | null;
};

/** Changes of submissions. These changes are part of the caller's write. */
export type Submissions = {
  insert(submission: Submission): void;
  /** Ends a submission. Returns false and changes nothing if it has already ended. */
  end(id: string, status: 'delivered' | 'undelivered', attempt: string): boolean;
};

export function openSubmissions({ prepare }: Database): Submissions {
  const insert = prepare(
    `insert into submissions (id, form, origin, progress, email, search_text, event, fields_digest, status, received_ms,
       status_since_ms, stored_here, attempts, attempt_number, attempt_by, lease_started_ms, lease_ms)
     values (?, 'contact', ?, 'new', ?, ?, ?, ?, 'sending', ?, ?, 0, '', 1, 'first', ?, ?) on conflict do nothing`,
  );
  const update = prepare(
    `update submissions set status = ?, status_since_ms = ?, attempts = attempts || ?
     where id = ? and status = 'sending' and attempt_number = 1`,
  );
  return {
    insert({ id, fields, event, digest }) {
      const now = Date.now();
      const text = Object.values(fields).join('\n').toLowerCase();
      const email = fields.email ?? null;
      const [lease, ms] = digest === null ? [null, null] : [performance.now(), LEASE_MS];
      const origin = digest === null ? 'agent' : 'browser';
      insert.run(id, origin, email, text, event, digest, now, now, lease, ms);
    },
    end: (id, status, attempt) => update.run(status, Date.now(), `${attempt}\n`, id).changes === 1,
  };
}
