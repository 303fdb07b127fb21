/**
 * Loaded before the service (`node --import`): ends or stops the process at a named point, so that
 * the service itself knows nothing of crashes.
 *
 * CRASH_POINT: `after the claim` (of a browser's lead: the commit that keeps it; of a subscriber's press: that of its
 * event), `as the commit is sent` (to PostgreSQL: nobody knows whether it arrived), `before the send`, `after the
 * answer`, `before the settle`, `after the settle`, or `statement N`: the Nth statement from the claim on, or from
 * what changes a subscriber, counted from 1. CRASH_SIGNAL: SIGKILL, or SIGSTOP.
 */
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { Pool } from 'undici';

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

/** A statement counts once it is durable: outside of any transaction. */
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
  const { Client } = (await import('pg')).default;
  const { query } = Client.prototype as unknown as { query(...given: unknown[]): unknown };
  const inTransaction = new WeakSet<object>();
  Object.defineProperty(Client.prototype, 'query', {
    value(this: object, ...given: unknown[]) {
      const [sql] = given;
      const asked = query.apply(this, given);
      // The pool's own are no texts.
      if (typeof sql !== 'string' || !(asked instanceof Promise)) return asked;
      if (claimed && sql === 'commit') reach('as the commit is sent');
      return asked.then((answer) => {
        if (sql === 'begin') inTransaction.add(this);
        if (sql === 'commit' || sql === 'rollback') inTransaction.delete(this);
        observe(sql, inTransaction.has(this));
        return answer;
      });
    },
  });
}

const { dispatch } = Pool.prototype;

Pool.prototype.dispatch = function (this: Pool, options, handler) {
  return dispatch.call(this, options, {
    ...handler,
    onRequestStart(...given) {
      reach('before the send');
      handler.onRequestStart?.(...given);
    },
    onResponseStart(...given) {
      reach('after the answer');
      handler.onResponseStart?.(...given);
    },
  });
};
