/**
 * Loaded before the service (`node --import`): ends or stops the process at a named point, so that
 * the service itself knows nothing of crashes. It watches what Node.js and the wire show, so that it
 * works with the bundle as well.
 *
 * CRASH_POINT: `after the claim` (of a browser's lead: the commit that keeps it; of a subscriber's press: that of its
 * event), `as the commit is sent` (to PostgreSQL: nobody knows whether it arrived), `before the send`, `after the
 * answer`, `before the settle`, `after the settle`, or `statement N`: the Nth statement from the claim on, or from
 * what changes a subscriber, counted from 1. CRASH_SIGNAL: SIGKILL, or SIGSTOP.
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

/** Counts a statement. Outside of a transaction, the statement is durable. */
function observe(sql: string, isTransaction: boolean): void {
  if (/^(insert into "(executions|submissions)"|update "subscribers")/i.test(sql)) claimed = true;
  if (!claimed) return;
  // The sweep's own names no preview, and may come at any time.
  if (/^update "executions".*"preview_digest" =/is.test(sql)) settled = true;
  // Taking a row for another attempt appends no line.
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
