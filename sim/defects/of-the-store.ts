/** Defects of the store: how it writes, closes and deletes. */
import type { Defect } from './defect.ts';

const DRAIN = 'src/platform/shutdown.ts';
const EXECUTIONS = 'src/actions/executions.ts';
const QUERIES = 'src/actions/execution-queries.ts';
const SCHEMA = 'src/storage/migrations/0001-schema.ts';
const RETENTION = 'src/actions/retention.ts';
const CONNECTION = 'src/storage/sqlite/connection.ts';
const DIALECT = 'src/storage/sqlite/store.ts';

export const defectsOfTheStore: readonly Defect[] = [
  {
    name: 'the claim is not atomic',
    edits: [
      {
        file: SCHEMA,
        find: 'preview_digest text not null unique,',
        replace: 'preview_digest text not null,',
      },
      {
        file: SCHEMA,
        find: ',\n      constraint executions_client_key unique (client, idempotency_key)',
        replace: '',
      },
    ],
  },
  {
    name: 'settling does not name the claim',
    edits: [
      { file: QUERIES, find: ".where('preview_digest', '=', to.preview_digest)", replace: '' },
      { file: QUERIES, find: ".where('action_id', '=', to.action_id)", replace: '' },
    ],
  },
  {
    name: 'a drain closes the database before the requests end',
    edits: [
      {
        file: DRAIN,
        find: 'await steps.endRequests();',
        replace: 'await steps.closeParts();\n      await steps.endRequests();',
      },
    ],
  },
  {
    name: 'a lease from before a restart of the machine goes on',
    edits: [{ file: DIALECT, find: ' or lease_started_ms > monotonic_ms()', replace: '' }],
  },
  {
    name: 'an idempotency key is shared by all clients',
    edits: [
      {
        file: QUERIES,
        find: "row('client', '=', of.client), ",
        replace: '',
      },
      {
        file: EXECUTIONS,
        find: 'row.client === client && row.idempotency_key',
        replace: 'row.idempotency_key',
      },
    ],
  },
  {
    name: 'retention uses the wall clock only',
    edits: [
      {
        file: RETENTION,
        find: '        .where((row) => row.not(claimedLately(row)))\n',
        replace: '        .where((row) => row.or([row.not(claimedLately(row)), row.lit(true)]))\n',
      },
    ],
  },
  {
    name: 'a read sees uncommitted writes',
    edits: [
      {
        file: CONNECTION,
        find: "if (this.#transaction !== 'none' || this.#database?.isTransaction) return undefined;",
        replace: '',
      },
    ],
  },
];
