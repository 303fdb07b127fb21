/** A submission kept before it is sent, and marked afterwards (see `database.ts`). */
import type { Database } from './database.ts';

const LEASE_MS = 15_000;

export type Kept = {
  id: string;
  fields: Record<string, string>;
  event: string;
  /** Of a person's second try; an execution has none, nor a lease beside its claim's. */
  digest: string | null;
};

/** Their changes stand in a write of the caller's. */
export type Submissions = {
  insert(kept: Kept): void;
  /** Changes nothing where it had ended before. */
  end(id: string, status: 'delivered' | 'undelivered', attempt: string): boolean;
};

export function openSubmissions({ prepare }: Database): Submissions {
  const insert = prepare(
    `insert into submissions (id, form, origin, email, telephone, event, fields_digest, status, received_ms,
       status_since_ms, stored_here, attempts, attempt_number, attempt_by, lease_started_ms, lease_ms)
     values (?, 'contact', ?, ?, ?, ?, ?, 'sending', ?, ?, 0, '', 1, 'first', ?, ?) on conflict do nothing`,
  );
  const update = prepare(
    `update submissions set status = ?, status_since_ms = ?, attempts = attempts || ?
     where id = ? and status = 'sending' and attempt_number = 1`,
  );
  return {
    insert({ id, fields, event, digest }) {
      const now = Date.now();
      const telephone = fields.phone?.replaceAll(/\D/g, '') ?? null;
      const email = fields.email ?? null;
      const [lease, ms] = digest === null ? [null, null] : [performance.now(), LEASE_MS];
      const origin = digest === null ? 'agent' : 'browser';
      insert.run(id, origin, email, telephone, event, digest, now, now, lease, ms);
    },
    end: (id, status, attempt) => update.run(status, Date.now(), `${attempt}\n`, id).changes === 1,
  };
}
