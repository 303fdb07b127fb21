/** A submission kept before it is sent, and marked afterwards, by plain statements (see `database.ts`). */
import { openDatabase } from './database.ts';

export type Submissions = {
  /** Resolves once it is durable. */
  keep(id: string, email: string, event: string, at: string): Promise<boolean>;
  /** The same; the answer does not wait for it. */
  settle(id: string, status: string, attempt: string): Promise<boolean>;
};

/** Opens the file, which is made where there is none. */
export function openSubmissions(path: string): Submissions {
  const { database, write } = openDatabase(path);
  // What the operator's list and one person's erasure look for has an index, as it has to have.
  database.exec(`create table if not exists submissions (id text primary key, email text, event text,
      status text, attempts text, received_at text);
    create index if not exists by_email on submissions (email);
    create index if not exists by_time on submissions (received_at)`);
  const insert = database.prepare(`insert into submissions values (?, ?, ?, 'sending', '', ?)`);
  const update = database.prepare(
    `update submissions set status = ?, attempts = attempts || ? where id = ? and status = 'sending'`,
  );
  return {
    keep: (id, email, event, at) => write(() => insert.run(id, email, event, at).changes === 1),
    settle: (id, status, attempt) => write(() => update.run(status, attempt, id).changes === 1),
  };
}
