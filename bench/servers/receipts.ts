/** Claims and settlements by plain statements (see `database.ts`). */
import { openDatabase } from './database.ts';

export type Receipts = {
  /** Resolves, once it is durable, to whether the key and the preview were free. */
  claim(id: string, client: string, key: string, digest: string, at: string): Promise<boolean>;
  settle(id: string, status: string, at: string): Promise<void>;
};

/** Opens the file, which is made where there is none; `eachAlone` gives every write its own commit. */
export function openReceipts(path: string, { eachAlone = false } = {}): Receipts {
  const { database, write } = openDatabase(path, eachAlone);
  database.exec(`create table if not exists executions (action_id text primary key, action text,
      client text, idempotency_key text, preview_digest text unique, status text, created_at text,
      settled_at text, unique (client, idempotency_key))`);
  const insert = database.prepare(
    `insert into executions values (?, 'contact', ?, ?, ?, 'executing', ?, null)
      on conflict do nothing`,
  );
  const update = database.prepare(
    `update executions set status = ?, settled_at = ? where action_id = ? and status = 'executing'`,
  );
  return {
    claim: (id, client, key, digest, at) =>
      write(() => insert.run(id, client, key, digest, at).changes === 1),
    settle: async (id, status, at) => {
      await write(() => update.run(status, at, id).changes === 1);
    },
  };
}
