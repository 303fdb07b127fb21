/**
 * Ends or stops the process at a named point. It is loaded before the service (`node --import`), so the service
 * contains no code for crashes. It watches SQLite, the sockets and undici, so it works with the bundle as well.
 *
 * CRASH_POINT is one of these:
 * - `after the claim`. For a browser's lead it is the commit that stores the lead. For a subscriber's click it is the
 *   commit that stores the event.
 * - `as the commit is sent` to PostgreSQL. The process can't know whether the commit arrived.
 * - `before the send`, `after the answer`, `before the settle`, `after the settle`.
 * - `statement N`: the Nth statement, counted from 1. Counting starts at the claim or at the first change of a
 *   subscriber.
 * - `before the commit of TABLE`, `after the commit of TABLE`: a transaction that changed this table. PostgreSQL has
 *   got the commit in both cases, but may not have carried it out in the first.
 * - `before the rewrite`, `after the rewrite`: VACUUM of SQLite.
 * - `after the rename`: a file was replaced.
 *
 * A request can also name the point, with the header `x-crash`. CRASH_SIGNAL is SIGKILL or SIGSTOP.
 */
import { subscribe } from 'node:diagnostics_channel';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { watchPostgres } from './postgres-wire.ts';

let point = process.env.CRASH_POINT;
const signal = process.env.CRASH_SIGNAL ?? 'SIGKILL';

let reached = false;

function reach(name: string): void {
  if (reached || name !== point) return;
  reached = true;
  process.kill(process.pid, signal);
}

subscribe('http.server.request.start', (message) => {
  const { request } = message as { request: { headers: Record<string, string> } };
  point = request.headers['x-crash'] ?? point;
  // A thread that starts from now on gets the point too.
  if (point !== undefined) process.env.CRASH_POINT = point;
});

let claimed = false;
let settled = false;
let statements = 0;

/** Tables that the open transaction of a connection has changed. Periodic jobs use other connections meanwhile. */
const changes = new WeakMap<object, Set<string>>();

/** Reaches the points right before a statement. */
function foresee(connection: object, sql: string): void {
  if (sql === 'vacuum') reach('before the rewrite');
  if (sql === 'commit') for (const table of changes.get(connection) ?? []) reach(`before the commit of ${table}`);
}

/** Reaches the points right after the end of a transaction. */
function reachCommit(connection: object, sql: string, isTransaction: boolean): void {
  const [, table] = /^(?:insert into|update|delete from) "(\w+)"/i.exec(sql) ?? [];
  const changed = changes.get(connection) ?? new Set();
  if (table !== undefined) changes.set(connection, changed.add(table));
  if (sql === 'vacuum') reach('after the rewrite');
  if (isTransaction) return;
  if (sql !== 'rollback') for (const each of changed) reach(`after the commit of ${each}`);
  changes.delete(connection);
}

/** Counts a statement that succeeded. Outside a transaction, the statement is durable. */
function observe(connection: object, sql: string, isTransaction: boolean): void {
  reachCommit(connection, sql, isTransaction);
  if (/^(insert into "(executions|submissions)"|update "subscribers")/i.test(sql)) claimed = true;
  if (!claimed) return;
  // The periodic job settles without `preview_digest`, and can do so at any time.
  if (/^update "executions".*"preview_digest" =/is.test(sql)) settled = true;
  // The update that starts an attempt does not set `attempts`.
  if (/^update "submissions" set "attempts" =/i.test(sql)) settled = true;
  if (settled) reach('before the settle');
  statements += 1;
  reach(`statement ${statements}`);
  if (isTransaction) return;
  reach(settled ? 'after the settle' : 'after the claim');
}

const { prepare, exec } = DatabaseSync.prototype;
const owners = new WeakMap<StatementSync, { sql: string; database: DatabaseSync }>();

DatabaseSync.prototype.prepare = function (this: DatabaseSync, ...given) {
  const statement = prepare.apply(this, given);
  owners.set(statement, { sql: given[0], database: this });
  return statement;
};

DatabaseSync.prototype.exec = function (this: DatabaseSync, sql) {
  exec.call(this, sql);
  observe(this, sql, this.isTransaction);
};

for (const name of ['run', 'all', 'get'] as const) {
  const original = StatementSync.prototype[name] as (...values: unknown[]) => unknown;
  Object.defineProperty(StatementSync.prototype, name, {
    value(this: StatementSync, ...values: unknown[]) {
      const owner = owners.get(this);
      if (owner !== undefined) foresee(owner.database, owner.sql);
      const result = original.apply(this, values);
      if (owner !== undefined) observe(owner.database, owner.sql, owner.database.isTransaction);
      return result;
    },
  });
}

if (process.env.DATABASE_URL?.startsWith('postgres')) {
  watchPostgres({
    sent: (connection, sql) => {
      foresee(connection, sql);
      if (claimed && sql === 'commit') reach('as the commit is sent');
    },
    answered: observe,
  });
}

const { renameSync } = fs;
fs.renameSync = (...given) => {
  renameSync(...given);
  reach('after the rename');
};
syncBuiltinESMExports();

type Step = (...given: unknown[]) => unknown;
type SentRequest = { onRequestStart: Step; onResponseStart: Step };

/** Reaches a point before a step of a request to the upstream. */
function reachBefore(request: SentRequest, step: keyof SentRequest, name: string): void {
  const original = request[step];
  request[step] = function (this: SentRequest, ...given) {
    reach(name);
    return original.apply(this, given);
  };
}

// undici publishes this event in the sources and in the bundle.
subscribe('undici:request:create', (message) => {
  const { request } = message as { request: SentRequest };
  reachBefore(request, 'onRequestStart', 'before the send');
  reachBefore(request, 'onResponseStart', 'after the answer');
});
