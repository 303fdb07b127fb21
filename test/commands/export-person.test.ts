/** Everything about one person, as the command and the console write it (reference §13.4 rule 7, §12.11). */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pending } from '../confirmations/rig.ts';
import { signIn, startWithConsole } from '../console/operator.ts';
import { quote } from '../support/agent.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { post } from '../support/forms.ts';
import type { Service } from '../support/service.ts';
import { keepRows, submissionRow } from '../support/submissions.ts';
import { runService } from './run-service.ts';

const email = 'eve@example.com';

describe.each(databases)('inbox export --email on %s', (_name, create) => {
  let database: TestDatabase;
  let service: Service;
  // Data that is a month old would fall under the service's retention.
  const receivedAt = new Date().toISOString();
  const lead = submissionRow({ receivedAt, fields: { name: 'Eve', email, message: 'Hello' } });
  beforeAll(async () => {
    database = await create();
    service = await startWithConsole({ environment: { DATABASE_URL: database.url } });
    await keepRows(service.parts.storage, [lead, submissionRow()]);
    await pending(service, { fields: { ...quote, email } });
    await pending(service, { fields: { ...quote, email: 'other@example.com' } });
    // The second address begins with the first one.
    for (const each of [email, `${email}.example`]) {
      await post(service, '/api/subscribe', 'urlencoded', { email: each, privacy: 'on' });
    }
  });
  afterAll(async () => {
    await service.close();
    await database.remove();
  });

  const run = (...args: string[]) =>
    runService(['inbox', 'export', '--email', email, ...args], {
      environment: {
        DATABASE_URL: database.url,
        DATA_DIR: service.folder,
        UPSTREAM_URL: 'inbox:',
      },
    });
  const linesOf = (text: string) =>
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));

  test('writes the same data as the console: leads, pending confirmations, newsletter, messages', async () => {
    const operator = await signIn(service);
    const { text } = await operator.get(`/operator/people/${lead.id}?export=jsonl`);
    const ran = await run();
    expect([ran.status, ran.stdout]).toEqual([0, text]);
    const lines = linesOf(ran.stdout);
    expect(lines.map(({ type }) => type)).toEqual([
      'lead.created',
      'subscriber.created',
      'confirmation.pending',
      'subscriber',
      'messages',
    ]);
    expect(lines[2]).toMatchObject({
      client: 'acme',
      destination: 'Vetted Painters',
      fields: { ...quote, email },
    });
    expect(lines[3]).toMatchObject({
      email,
      status: 'pending',
      confirmed_at: null,
      unsubscribed_at: null,
    });
    expect(lines[3]).not.toHaveProperty('confirm_token');
    expect(lines[4]).toEqual({ type: 'messages', address: email, count: 1 });
    expect(ran.stderr).toContain('This is everything about this person in the database.');
    expect(ran.stderr).not.toContain('DATA_DIR');
  });

  test('writes a row of the CSV with the same bytes as the console', async () => {
    const operator = await signIn(service);
    const { text } = await operator.get('/operator/leads.csv?q=Eve');
    const environment = { DATABASE_URL: database.url, DATA_DIR: service.folder, OPERATOR_TIME_ZONE: 'Europe/Berlin' };
    const ran = await runService(['inbox', 'export', '--email', email, '--format', 'csv'], { environment });
    const [head, row, ...others] = text.split('\r\n');
    expect(others).toEqual(['']);
    expect(row).toContain(lead.id);
    expect(ran.stdout.split('\r\n').slice(0, 2)).toEqual([`\uFEFF${head}`, row]);
  });

  test.each([
    ['as CSV', ['--format', 'csv']],
    ['with a filter', ['--form', 'contact']],
    ['with a limit', ['--limit', '1']],
  ])('warns that the export contains only submissions if the person is exported %s', async (_how, args) => {
    const ran = await run(...args);
    expect(ran.status).toBe(0);
    expect(ran.stdout).toContain(email);
    expect(ran.stdout).not.toContain('confirmation.pending');
    expect(ran.stderr).toContain('This is not everything about this person');
    expect(ran.stderr).not.toContain(email);
  });

  test('prints the number of message files in local mode', async () => {
    const folder = join(service.folder, 'mail');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'one.eml'), `To: ${email}\r\n\r\nHello`);
    expect((await run()).stderr).toContain('Local mode wrote 1 message to or about this person');
  });
});
