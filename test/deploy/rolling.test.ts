/** Restarts three instances behind nginx one after another under load, and checks that no request fails. */
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CONFIRMATION_STATEMENT } from '../../src/actions/preview.ts';
import { databases, redisAnswers, redisUrl, type TestDatabase } from '../support/databases.ts';
import { freePort } from '../support/free-port.ts';
import { type Nginx, nginxIsThere, startNginx } from '../support/nginx.ts';
import { type ServiceProcess, startProcess } from '../support/process.ts';
import { tokens } from '../support/service.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

const postgres = databases.find(([name]) => name === 'PostgreSQL')?.[1];
const missing = [
  ...(postgres === undefined ? ['PostgreSQL'] : []),
  ...(redisAnswers ? [] : ['Redis']),
  ...(nginxIsThere ? [] : ['nginx']),
];
if (missing.length > 0) {
  console.warn(`Skipped: ${missing.join(', ')} not there, so nothing rolls behind nginx.`);
}

type Reply = { status: number; body: string };
type Call = { address: string; agent?: Agent; method?: string; headers?: Record<string, string> };

const authorization = { authorization: `Bearer ${tokens.both}` };
const json = { 'content-type': 'application/json' };
const quote = { name: 'Ada', email: 'ada@example.com', postal_code: '94110' };
const PEOPLE = 12;

/** nginx's `fail_timeout` in milliseconds. A rolling restart waits for it (docs/operations.md). */
const USED_AGAIN_AFTER_MS = 5_000;

describe.skipIf(missing.length > 0)('three instances behind nginx, with PostgreSQL and Redis', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'rolling-'));
  const instances: ServiceProcess[] = [];
  let ports: number[];
  let database: TestDatabase;
  let upstream: ProgrammableUpstream;
  let nginx: Nginx;
  let environment: Record<string, string>;

  const start = (port: number) => startProcess({ dataDir, port, environment });

  beforeAll(async () => {
    database = (await postgres?.()) ?? expect.fail();
    upstream = await startUpstream();
    // The delay makes sure that some requests are always unfinished.
    upstream.answer = (response) => {
      setTimeout(() => response.writeHead(200).end(), 50 * Math.random());
    };
    ports = [await freePort(), await freePort(), await freePort()];
    nginx = await startNginx(ports);
    environment = {
      NODE_ENV: 'production',
      BASE_URL: nginx.url,
      DATABASE_URL: database.url,
      REDIS_URL: redisUrl,
      UPSTREAM_URL: upstream.url,
      UPSTREAM_TIMEOUT_MS: '5000',
      CONTRACTOR_ID: 'c-1',
      CONTRACTOR_NAME: 'Vetted Painters',
      PREVIEW_SIGNING_KEYS: Buffer.alloc(32, 'key').toString('base64'),
      AGENT_CREDENTIALS_FILE: join(dataDir, 'agents.json'),
      SMTP_URL: 'smtp://127.0.0.1:1',
      MAIL_FROM: 'hello@example.com',
    };
    instances.push(...(await Promise.all(ports.map(start))));
  }, 60_000);
  afterAll(async () => {
    await Promise.all(instances.map((instance) => instance.end()));
    await nginx?.close();
    await upstream?.close();
    await database?.remove();
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** Sends a request to nginx from a loopback address. */
  function call(path: string, options: Call, body?: string): Promise<Reply> {
    const { address, agent, method = body === undefined ? 'GET' : 'POST', headers = {} } = options;
    return new Promise((settle, reject) => {
      const request = httpRequest(
        `${nginx.url}${path}`,
        { method, headers, localAddress: address, ...(agent === undefined ? {} : { agent }) },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (part) => {
            text += part;
          });
          response.on('end', () => settle({ status: response.statusCode ?? 0, body: text }));
          response.on('error', reject);
        },
      );
      request.on('error', reject).end(body);
    });
  }

  /** Returns how many instances count limits locally now, and how often one of them began to. */
  const insured = () => {
    const said = instances.map((instance) => instance.stdout()).join('');
    const away = said.split('Redis unavailable').length - 1;
    return { away, now: away - (said.split('Redis available').length - 1) };
  };

  test('share the rate limit of a client, also if the client sends different X-Forwarded-For headers', async () => {
    const seventy = async () => {
      const address = randomAddress();
      const statuses: number[] = [];
      for (let sent = 0; sent < 70; sent += 1) {
        const headers = { ...authorization, 'x-forwarded-for': `203.0.113.${sent}` };
        const path = '/api/agent/actions/contact/preview';
        statuses.push((await call(path, { address, headers }, '{}')).status);
      }
      return [count(statuses, 400), count(statuses, 429)];
    };
    // On a busy machine Redis may answer too late, and the instances count locally. Then this is repeated.
    let before = insured();
    let counted = await seventy();
    for (let tries = 1; tries < 5 && (before.now > 0 || insured().away > before.away); tries += 1) {
      await sleep(1_500);
      before = insured();
      counted = await seventy();
    }
    expect(counted).toEqual([60, 10]);
    // Every instance served some of the requests.
    for (const instance of instances) {
      expect(instance.stdout().match(/"\/api\/agent\/actions\/:action\/preview"/g)?.length).toBeGreaterThan(9);
    }
  });

  test('store one lead for a double click on a form without JavaScript', async () => {
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-site': 'same-origin',
    };
    const before = upstream.delivered.length;
    for (let people = 0; people < PEOPLE; people += 1) {
      const fields = { form: 'homeowner_quote', ...quote, name: `Ada ${people}` };
      const body = new URLSearchParams(fields).toString();
      const address = randomAddress();
      const click = () => call('/api/leads', { address, headers }, body);
      const statuses = (await Promise.all([click(), click()])).map(({ status }) => status);
      expect(statuses).toEqual([303, 303]);
    }
    expect(upstream.delivered.length - before).toBe(PEOPLE);
  });

  test('answer every request and exit with 0 if the instances are restarted one after another under load', async () => {
    let rolling = true;
    let answered = 0;
    const executed: string[] = [];
    const failed: string[] = [];
    const expecting = async (status: number, what: string, reply: Promise<Reply>) => {
      const got = await reply.catch((error: Error) => ({ status: 0, body: error.message }));
      answered += 1;
      if (got.status !== status) failed.push(`${what}: ${got.status} ${got.body.slice(0, 200)}`);
      return got;
    };

    /** Sends the requests of one person, by agent and by browser, from a new address. */
    const person = async () => {
      const address = randomAddress();
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const as = (headers: Record<string, string>) => ({ address, agent, headers });
      await expecting(200, 'page', call('/quote', as({})));
      const previewed = await expecting(
        200,
        'preview',
        call('/api/agent/actions/homeowner_quote/preview', as(authorization), JSON.stringify(quote)),
      );
      if (previewed.status !== 200) return;
      const body = {
        preview_id: JSON.parse(previewed.body).preview_id,
        confirmation: true,
        confirmation_text: CONFIRMATION_STATEMENT,
      };
      const key = { ...authorization, 'idempotency-key': `rolling-${Math.random()}` };
      const path = '/api/agent/actions/homeowner_quote/execute';
      const execution = await expecting(200, 'execute', call(path, as(key), JSON.stringify(body)));
      if (execution.status === 200) executed.push(JSON.parse(execution.body).receipt.action_id);
      const lead = JSON.stringify({ form: 'homeowner_quote', ...quote });
      await expecting(200, 'lead', call('/api/leads', as(json), lead));
      const subscription = JSON.stringify({ email: `${Math.random()}@example.com`, privacy: 'on' });
      await expecting(200, 'subscribe', call('/api/subscribe', as(json), subscription));
      agent.destroy();
    };
    const load = Array.from({ length: PEOPLE }, async () => {
      while (rolling) await person();
    });
    // This is what the `probe` of the compose file does.
    const probing = (async () => {
      while (rolling) {
        await expecting(200, 'probe', call('/nginx/probe', { address: '127.0.0.1' }));
        await sleep(100);
      }
    })();

    const exits = [];
    for (const [index, port] of ports.entries()) {
      await sleep(500);
      instances[index]?.kill('SIGTERM');
      exits.push(await instances[index]?.exited);
      instances[index] = await start(port);
      await sleep(USED_AGAIN_AFTER_MS);
    }
    await sleep(500);
    rolling = false;
    await Promise.all([...load, probing]);

    expect(failed).toEqual([]);
    expect(exits).toEqual(Array(3).fill({ status: 0, signal: null }));
    expect(answered).toBeGreaterThan(300);
    const deliveries = upstream.delivered.map(({ event }) => event.data.id);
    expect(executed.filter((id) => count(deliveries, id) !== 1)).toEqual([]);
  }, 90_000);
});

const count = (all: readonly unknown[], wanted: unknown) => all.filter((one) => one === wanted).length;

/** Returns a random loopback address (127.0.0.0/8), whose rate limits are unused. */
function randomAddress(): string {
  const part = () => 1 + Math.floor(250 * Math.random());
  return `127.${part()}.${part()}.${part()}`;
}
