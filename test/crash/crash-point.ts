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
 *
 * CRASH_SIGNAL is SIGKILL or SIGSTOP.
 */
import { subscribe } from 'node:diagnostics_channel';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { watchPostgres } from './postgres-wire.ts';

const point = process.env.CRASH_POINT;
const signal = process.env.CRASH_SIGNAL ?? 'SIGKILL';

let reached = false;

function reach(name: string): void {
  if (reached || name !== point) return;
  reached = true;
  process.kill(process.pid, signal);
}

let claimed = false;
let settled = false;
let statements = 0;

/** Counts a statement that succeeded. Outside a transaction, the statement is durable. */
function observe(sql: string, isTransaction: boolean): void {
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
  observe(sql, this.isTransaction);
};

for (const name of ['run', 'all', 'get'] as const) {
  const original = StatementSync.prototype[name] as (...values: unknown[]) => unknown;
  Object.defineProperty(StatementSync.prototype, name, {
    value(this: StatementSync, ...values: unknown[]) {
      const result = original.apply(this, values);
      const owner = owners.get(this);
      if (owner !== undefined) observe(owner.sql, owner.database.isTransaction);
      return result;
    },
  });
}

if (process.env.DATABASE_URL?.startsWith('postgres')) {
  watchPostgres({
    sent: (sql) => {
      if (claimed && sql === 'commit') reach('as the commit is sent');
    },
    answered: observe,
  });
}

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
