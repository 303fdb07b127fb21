import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type MailServer, startMailServer } from '../../mail/mail-server.ts';
import { databases, type TestDatabase } from '../../support/databases.ts';
import { post } from '../../support/forms.ts';
import { injected } from '../../support/injected.ts';
import { attempt, attemptUntilFinal, deliveriesOf, expectPromises, previewLeads } from '../../support/leads.ts';
import { pgbouncerIsThere, startPgbouncer } from '../../support/pgbouncer.ts';
import { type ServiceProcess, startProcess } from '../../support/process.ts';
import { until } from '../../support/until.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../../support/upstream.ts';

const create = databases.find(([name]) => name === 'PostgreSQL')?.[1];
const isThere = create !== undefined && pgbouncerIsThere;
if (!isThere) console.log('skipped: a pooler needs PostgreSQL and pgbouncer');

const FAULT = 'a pooler in transaction mode';

describe.runIf(isThere)('two instances through a pooler in transaction mode', () => {
  let database: TestDatabase;
  let pooler: Awaited<ReturnType<typeof startPgbouncer>>;
  let upstream: ProgrammableUpstream;
  let mail: MailServer;
  let one: ServiceProcess;
  let two: ServiceProcess;
  beforeAll(async () => {
    upstream = await startUpstream();
    mail = await startMailServer();
    database = (await create?.()) ?? expect.fail();
    pooler = await startPgbouncer(database.url);
    const environment = {
      DATABASE_URL: pooler.url,
      UPSTREAM_URL: upstream.url,
      UPSTREAM_TIMEOUT_MS: '1000',
      PREVIEW_SIGNING_KEYS: Buffer.alloc(32, 'key').toString('base64'),
      SMTP_URL: mail.url,
      MAIL_FROM: 'hello@paint.example',
    };
    // Both start at once on an empty database, so both try to run all migrations.
    [one, two] = await Promise.all([startProcess({ environment }), startProcess({ environment })]);
  });
  afterAll(async () => {
    await Promise.all([one?.end(), two?.end()]);
    await pooler?.close();
    await mail.close();
    await upstream.close();
    await database.remove();
  });

  test('create one receipt and one delivery for each of 20 executions sent to both instances at once', async (context) => {
    const leads = await previewLeads(one, 20);
    injected(context, FAULT, leads.length);
    await Promise.all(leads.flatMap((lead) => [attempt(one, lead), attempt(two, lead)]));
    await Promise.all(leads.map((lead) => attemptUntilFinal(two, lead)));
    expectPromises(upstream, leads);
    for (const { answers } of leads) expect(answers.at(-1)?.status).toBe(200);
  });

  test('send one message to each subscriber who signs up at both instances at once', async (context) => {
    const addresses = Array.from({ length: 10 }, (_, n) => `reader-${n}@subscriber.example`);
    injected(context, FAULT, addresses.length);
    await Promise.all(
      addresses.flatMap((email) =>
        [one, two].map((instance) => post(instance, '/api/subscribe', 'json', { email, privacy: 'on' })),
      ),
    );
    await until(() => mail.received.length >= addresses.length);
    expect(mail.received.flatMap(({ to }) => to).sort()).toEqual(addresses);
  });

  test('settle an execution after its lease expires if the other instance is killed during the send', async (context) => {
    const [lead] = await previewLeads(one, 1);
    if (lead === undefined) return expect.fail();
    injected(context, FAULT);
    upstream.answer = () => one.kill('SIGKILL');
    await attempt(one, lead);
    upstream.answer = answering(200);
    expect((await attempt(two, lead))?.body.retryable).toBe(true);
    await attemptUntilFinal(two, lead);
    expect(lead.answers.at(-1)?.status).toBe(502);
    expect(deliveriesOf(upstream, [lead])).toEqual([1]);
    expectPromises(upstream, [lead]);
  });
});
