/** Fills each table with many completed rows under random keys, as years of use would. */
import type { Storage } from '../src/storage/database.ts';
import type { Schema } from '../src/storage/schema.ts';

/** An SQL number as text. These texts sort like numbers. */
const NUMBER = `cast(10000000 + i as text)`;
const AT = `'2026-01-01T00:00:' || ${NUMBER}`;
const EVENT = `'{"type":"lead.created","data":{"id":"' || i || '","form":"contact","fields":{"name":"Ada Lovelace","message":"Could somebody look at the terrace before the winter?"},"recipient":null,"origin":"browser","client":null}}'`;

/** Number of rows in one statement, so that the statement ends within PostgreSQL's time limit. */
const ROWS_PER_INSERT = 10_000;

/** 2026-01-01 in milliseconds since 1970. */
const BEGAN_MS = 1_767_225_600_000;

/** SQL expression of each column. `i` is the number of the row, and `RANDOM` is 32 random hexadecimal digits. */
const columns: Partial<Record<keyof Schema, Record<string, string>>> = {
  executions: {
    action_id: NUMBER,
    action: `'contact'`,
    client: `'client'`,
    idempotency_key: 'RANDOM',
    preview_digest: 'RANDOM',
    status: `'submitted'`,
    created_at: AT,
    confirmation_text: `'I confirm that this site may use these details for the selected action.'`,
    confirmed_via: `'agent'`,
    destination: `'Vetted Painters'`,
    lease_started_ms: '0',
    lease_ms: '15000',
    settled_at: AT,
  },
  submissions: {
    id: NUMBER,
    form: `'contact'`,
    origin: `'browser'`,
    email: 'RANDOM',
    search_text: 'RANDOM',
    progress: `'new'`,
    received_ms: `${BEGAN_MS} + i`,
    event: EVENT,
    fields_digest: 'RANDOM',
    status: `'delivered'`,
    status_since_ms: `${BEGAN_MS} + i`,
    stored_here: '0',
    attempts: `''`,
    attempt_number: '1',
    attempt_by: `'first'`,
  },
  messages: {
    kind: `'notice'`,
    key: 'RANDOM',
    priority: '2',
    message_id: 'RANDOM',
    status: `'sent'`,
    requested_at: AT,
    attempts: '1',
    next_attempt_at: AT,
    last_attempt_at: AT,
    attempt_started_ms: '0',
  },
  confirmations: {
    id: NUMBER,
    client: `'client'`,
    action: `'contact'`,
    via: `'page'`,
    destination: `'Vetted Painters'`,
    secret_digest: 'RANDOM',
    mailbox_digest: 'RANDOM',
    created_at: AT,
    expires_at: AT,
    code_number: '0',
    wrong_codes: '0',
  },
  confirmation_codes: {
    id: NUMBER,
    number: '1',
    client: `'client'`,
    mailbox_digest: 'RANDOM',
    asked_at: AT,
  },
  confirmation_reports: { client: `'client'`, mailbox_digest: 'RANDOM', reported_at: AT },
  subscribers: {
    id: NUMBER,
    email: 'RANDOM',
    contractor: `'c-1'`,
    status: `'confirmed'`,
    made_by: NUMBER,
    confirm_token: 'RANDOM',
    leave_token: 'RANDOM',
    created_at: AT,
    consent_recorded_at: AT,
    confirmed_at: AT,
  },
  operator_sessions: {
    digest: 'RANDOM',
    name: `'somebody'`,
    mailed: '0',
    signed_in_at: AT,
    last_seen_at: AT,
  },
  operator_audit: {
    id: NUMBER,
    at: AT,
    name: `'somebody'`,
    what: `'saw_leads'`,
    about: `'{}'`,
  },
};

/** Fills every table that a request or a worker queries. */
export async function fillTables(storage: Storage, count: number): Promise<void> {
  const random = storage.kind === 'sqlite' ? 'lower(hex(randomblob(16)))' : 'md5(random()::text)';
  const run = (sql: string) => storage.write((tx) => tx.executeQuery({ sql, parameters: [] } as never));
  for (const [table, of] of Object.entries(columns)) {
    const values = Object.values(of).join(', ').replaceAll('RANDOM', random);
    for (let from = 1; from <= count; from += ROWS_PER_INSERT) {
      const to = Math.min(count, from + ROWS_PER_INSERT - 1);
      await run(`insert into ${table} (${Object.keys(of).join(', ')})
        with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${to})
        select ${values} from n`);
    }
    // Without this statement, autovacuum would analyze the table after some time.
    if (storage.kind === 'postgres') await run(`analyze ${table}`);
  }
}
