/** Logs contain nothing that a caller sent while the store refuses rows or is unavailable. */
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, executeAction, previewId } from '../support/agent.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { encodings, post } from '../support/forms.ts';
import { type ServiceProcess, startProcess } from '../support/process.ts';
import { until } from '../support/until.ts';

const canary = 'canary5c1e';
let people = 0;
const email = () => `${canary}.${++people}@${canary}.example`;

type Direct = { run(sql: string): Promise<unknown>; end(): Promise<void> };

async function connect({ url }: TestDatabase): Promise<Direct> {
  if (url.startsWith('sqlite:')) {
    const database = new DatabaseSync(url.slice('sqlite:'.length), { timeout: 5_000 });
    return { run: async (sql) => database.exec(sql), end: async () => database.close() };
  }
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return { run: (sql) => client.query(sql), end: () => client.end() };
}

/** Statements that start and end a fault, by database. A server's error repeats the refused row. */
const faults = {
  'refuses every new row': {
    SQLite: (table: string) => [
      `create trigger refusing before insert on ${table} begin select raise(abort, 'refused'); end`,
      'drop trigger refusing',
    ],
    PostgreSQL: (table: string) => [
      `alter table ${table} add constraint refusing check (false) not valid`,
      `alter table ${table} drop constraint refusing`,
    ],
  },
  'is locked': {
    SQLite: () => ['begin immediate', 'rollback'],
    PostgreSQL: (table: string) => [`begin; lock table ${table}`, 'rollback'],
  },
};
const cases: [table: string, fault: keyof typeof faults][] = [
  ['submissions', 'refuses every new row'],
  ['messages', 'refuses every new row'],
  ['executions', 'refuses every new row'],
  // Each of them waits for its timeout. SQLite locks the whole file.
  ['messages', 'is locked'],
];

describe.each(databases)('log on %s', (name, create) => {
  let database: TestDatabase;
  let service: ServiceProcess;
  let direct: Direct;
  beforeAll(async () => {
    database = await create();
    service = await startProcess({
      environment: { DATABASE_URL: database.url, LOG_LEVEL: 'trace' },
    });
    direct = await connect(database);
  });
  afterAll(async () => {
    await direct.end();
    await service.end();
    await database.remove();
  });

  const lead = () => ({ form: 'contact', name: canary, subject: canary, message: canary });
  const everySubmission = (preview: string): Promise<Answer>[] => [
    ...encodings.map((encoding) => post(service, '/api/leads', encoding, { ...lead(), email: email() })),
    ...encodings.map((encoding) => post(service, '/api/subscribe', encoding, { email: email(), privacy: 'on' })),
    executeAction(service, preview, { action: 'contact', key: `${canary}-${++people}` }),
  ];

  test.each(cases)('contains no data of a request while the table %s %s', async (table, fault) => {
    const fields = { ...lead(), email: email() };
    const preview = await previewId(service, 'contact', fields);
    const before = service.stdout().length;
    const [begin = '', end = ''] = faults[fault][name as 'SQLite' | 'PostgreSQL'](table);
    await direct.run(begin);
    const answers = await Promise.all(everySubmission(preview));
    await direct.run(end);

    expect(answers.some(({ status }) => status >= 500)).toBe(true);
    for (const { status, text } of answers) {
      if (status >= 500) expect(text.replace(/<form[\s\S]*?<\/form>/g, '')).not.toContain(canary);
    }
    const said = () => service.stdout().slice(before);
    await until(() => /"status":50\d/.test(said()));
    const lines = `${said()}${service.stderr()}`.split('\n');
    expect(lines.filter((line) => line.includes(canary) || line.includes(preview))).toEqual([]);
  });
});
