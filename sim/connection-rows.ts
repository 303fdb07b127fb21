/** Watches the rows of connections with OAuth: invariant 17. */
import { hash } from 'node:crypto';
import type { Ledger } from './ledger.ts';
import type { Store } from './store.ts';

type Seen = { id: string; family_digest: string | null };

/** Returns a function that checks the committed rows: a code is used once, and an ended connection does not return. */
export function watchConnections(store: Store, ledger: Ledger): () => void {
  const families = new Map<string, string | null>();
  const gone = new Set<string>();
  return () => {
    const present = store.read<Seen>('select id, family_digest from oauth_connections') ?? [];
    for (const { id, family_digest: family } of present) {
      const before = families.get(id) ?? null;
      if (before !== null && before !== family) ledger.violate(17, `the code of ${id} was used again`);
      if (gone.has(id)) ledger.violate(17, `${id} had ended, and is back`);
      families.set(id, family);
    }
    if (present.length === families.size) return;
    for (const id of families.keys()) {
      if (present.some((row) => row.id === id)) continue;
      families.delete(id);
      gone.add(id);
    }
  };
}

/** Checks invariant 17 in the store: an ended connection has neither a row nor a token. */
export function checkConnections(store: Store, ledger: Ledger): void {
  for (const { name, code, isEnded } of ledger.families) {
    const rows = store.read('select 1 from oauth_connections where code_digest = ?', hash('sha256', code, 'hex'));
    if (isEnded && rows?.length !== 0) ledger.violate(17, `${name} has ended, and its connection is stored`);
  }
  const sql = 'select 1 from oauth_access_tokens where connection not in (select id from oauth_connections)';
  if (store.read(sql)?.length !== 0) ledger.violate(17, 'an access token has no connection');
}
