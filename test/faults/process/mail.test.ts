import PostalMime from 'postal-mime';
import { afterEach, expect, test } from 'vitest';
import { type MailServer, type MailServerOptions, startMailServer } from '../../mail/mail-server.ts';
import { quote } from '../../support/agent.ts';
import { beside } from '../../support/disk.ts';
import { post } from '../../support/forms.ts';
import { freePort } from '../../support/free-port.ts';
import { injected } from '../../support/injected.ts';
import { metricsText } from '../../support/metrics.ts';
import { type ServiceProcess, startProcess } from '../../support/process.ts';
import { until } from '../../support/until.ts';
import { startUpstream } from '../../support/upstream.ts';

/** Number of attempts for a message (`src/mail/outbox-rows.ts`). */
const ATTEMPTS = 7;
const CONTRACTOR = 'owner@painters.example';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function mailServer(options: MailServerOptions) {
  const server = await startMailServer(options);
  closers.push(server.close);
  return server;
}

async function start(url: string, dataDir?: string, environment: Record<string, string> = {}) {
  const metricsPort = await freePort();
  const service = await startProcess({
    environment: {
      SMTP_URL: url,
      MAIL_FROM: 'hello@paint.example',
      METRICS_PORT: String(metricsPort),
      ...environment,
    },
    ...(dataDir === undefined ? {} : { dataDir }),
  });
  return { service, metricsPort };
}

const subscribe = (service: ServiceProcess, email: string) =>
  post(service, '/api/subscribe', 'json', { email, privacy: 'on' });

/** Makes every message due at once, by the wall clock and by the monotonic clock. */
function bringForward(service: ServiceProcess): void {
  beside(service, (database) =>
    database.exec(
      "update messages set next_attempt_at = '2000-01-01T00:00:00.000Z', attempt_started_ms = null where status = 'pending' and attempts > 0",
    ),
  );
}

/** Starts a mail server that kills a service right before it answers 250 to its next message. */
async function killingServer() {
  let killed: ServiceProcess | undefined;
  const server = await mailServer({
    data: () => {
      killed?.kill('SIGKILL');
      killed = undefined;
      return undefined;
    },
  });
  const killNext = (service: ServiceProcess) => {
    killed = service;
  };
  return { server, killNext };
}

async function messageIdsOf({ received }: Pick<MailServer, 'received'>): Promise<Set<string | undefined>> {
  return new Set(await Promise.all(received.map(async ({ raw }) => (await PostalMime.parse(raw)).messageId)));
}

test('outbox repeats a message with the same Message-ID if the process is killed when the server answers 250', async (context) => {
  const { server, killNext } = await killingServer();
  const { service } = await start(server.url);
  killNext(service);
  await subscribe(service, 'jane@subscriber.example').catch(() => {});
  expect((await service.exited).signal).toBe('SIGKILL');
  injected(context, 'SMTP: 250, then kill -9');
  const { service: restarted } = await start(server.url, service.dataDir);
  bringForward(restarted);
  await until(() => server.received.length === 2);
  expect((await messageIdsOf(server)).size).toBe(1);
  const marked = () => beside(restarted, (database) => database.prepare('select status from messages').all());
  await until(() => marked()[0]?.status === 'sent');
});

test.for([
  { what: 'acknowledgement', to: quote.email, on: { ACKNOWLEDGE: 'on', OPERATOR_CONTACT: 'hello@paint.example' } },
  { what: 'notice to the contractor', to: CONTRACTOR, on: { CONTRACTOR_EMAIL: CONTRACTOR } },
])(
  'the $what comes twice with one Message-ID, and the lead is forwarded once, if the process is killed at the 250',
  async ({ what, to, on }, context) => {
    const { server, killNext } = await killingServer();
    const upstream = await startUpstream();
    closers.push(upstream.close);
    const environment = { UPSTREAM_URL: upstream.url, ...on };
    const { service } = await start(server.url, undefined, environment);
    killNext(service);
    const form = { form: 'homeowner_quote', ...quote };
    expect((await post(service, '/api/leads', 'json', form)).status).toBe(200);
    expect((await service.exited).signal).toBe('SIGKILL');
    injected(context, `SMTP, ${what}: 250, then kill -9`);
    const { service: restarted } = await start(server.url, service.dataDir, environment);
    bringForward(restarted);
    const rows = () => beside(restarted, (database) => database.prepare('select status, attempts from messages').all());
    await until(() => rows()[0]?.status === 'sent');
    expect(rows()).toEqual([{ status: 'sent', attempts: 2 }]);
    expect(server.received.map((each) => each.to)).toEqual([[to], [to]]);
    expect((await messageIdsOf(server)).size).toBe(1);
    expect(upstream.delivered).toHaveLength(1);
    const leads = beside(restarted, (database) => database.prepare('select status from submissions').all());
    expect(leads).toEqual([{ status: 'delivered' }]);
  },
);

test('outbox sends a message at most seven times if each attempt is refused, and sends all other messages', async (context) => {
  const server = await mailServer({
    recipient: (address) => (address.startsWith('poisoned') ? { code: 451, text: '4.3.0 not now' } : undefined),
  });
  const { service, metricsPort } = await start(server.url);
  const dead = async () => {
    const text = await metricsText(metricsPort);
    return /^service_outbox_messages\{status="dead"\} (\d+)/m.exec(text)?.[1];
  };
  await subscribe(service, 'poisoned@subscriber.example');
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    await until(() => server.offered.filter((to) => to.startsWith('poisoned')).length === attempt);
    injected(context, 'SMTP: one poisoned message');
    expect((await subscribe(service, `other-${attempt}@subscriber.example`)).status).toBe(200);
    await until(() => server.received.length === attempt);
    if (attempt < ATTEMPTS) bringForward(service);
  }
  await until(async () => (await dead()) === '1');
  bringForward(service);
  await subscribe(service, 'last@subscriber.example');
  await until(() => server.received.length === ATTEMPTS + 1);
  expect(server.offered.filter((to) => to.startsWith('poisoned'))).toHaveLength(ATTEMPTS);
});
