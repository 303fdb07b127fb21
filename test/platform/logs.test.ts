import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FormName, forms } from '../../src/forms/catalog.ts';
import { type MailServer, startMailServer } from '../mail/mail-server.ts';
import { type Answer, call, executeAction, previewAction } from '../support/agent.ts';
import { encodings, filledWith, formNames, multipart, post, postRaw } from '../support/forms.ts';
import { freePort } from '../support/free-port.ts';
import { metricsText } from '../support/metrics.ts';
import { type ServiceProcess, startProcess } from '../support/process.ts';
import { freshAddress, tokens } from '../support/service.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { exchange } from '../support/wire.ts';

/** Marker in every value that a caller sends. It must not appear in logs, errors or metrics. */
const canary = 'canary7f3a';
const email = `${canary}@${canary}.example`;
const fields = Object.fromEntries(
  Object.values(forms).map((form) => [form.name, filledWith(form, canary, email)]),
) as Record<FormName, Record<string, string>>;

/** Headers of a caller who puts the canary into each of them. */
const headers = () => ({
  'user-agent': canary,
  referer: `https://${canary}.example/${canary}?${canary}`,
  origin: `https://${canary}.example`,
  'x-forwarded-for': `${canary}, ${freshAddress()}`,
  'x-forwarded-host': canary,
  forwarded: `for=${canary}`,
  'x-real-ip': canary,
  'x-request-id': canary,
  traceparent: `00-${canary}-${canary}-01`,
  tracestate: `${canary}=${canary}`,
  baggage: `${canary}=${canary}`,
  cookie: `${canary}=${canary}`,
  'accept-version': canary,
});

let upstream: ProgrammableUpstream;
let mail: MailServer;
let service: ServiceProcess;
let metricsPort: number;
const answers: Answer[] = [];
const upstreamKeys = ['one', 'two'].map((name) => Buffer.alloc(32, name).toString('base64'));
const secrets: string[] = [tokens.both, tokens.preview, 'idempotency-of-', 'gateway-secret', ...upstreamKeys];

/** Stores an answer until the logs are complete. */
async function note(answering: Promise<Answer>): Promise<Answer> {
  const answer = await answering;
  answers.push(answer);
  return answer;
}

beforeAll(async () => {
  upstream = await startUpstream();
  // The mail server refuses every recipient and repeats the address.
  mail = await startMailServer({ recipient: (to) => ({ code: 550, text: `5.1.1 <${to}> no` }) });
  metricsPort = await freePort();
  service = await startProcess({
    environment: {
      LOG_LEVEL: 'trace',
      UPSTREAM_URL: upstream.url,
      UPSTREAM_SECRET: upstreamKeys.map((key) => `whsec_${key}`).join(),
      UPSTREAM_HEADERS: 'Authorization: Bearer gateway-secret',
      UPSTREAM_TIMEOUT_MS: '2000',
      SMTP_URL: mail.url,
      MAIL_FROM: 'hello@paint.example',
      METRICS_PORT: String(metricsPort),
    },
  });
});
afterAll(async () => {
  await upstream.close();
  await mail.close();
});

/** The kinds of upstream answers, with the canary in every possible part. */
const upstreamAnswers: Record<string, ProgrammableUpstream['answer']> = {
  success: (response) => response.writeHead(200, canary, { 'x-said': canary }).end(canary),
  rejection: (response) => response.writeHead(422, canary, { 'x-said': canary }).end(canary),
  'too many': (response) => response.writeHead(429, { 'retry-after': canary }).end(canary),
  failure: (response) => response.writeHead(500, canary).end(canary),
  redirect: (response) => response.writeHead(302, { location: `http://${canary}/` }).end(canary),
  garbage: (response) => response.socket?.end(`${canary}\r\n\r\n`),
  reset: (response) => response.socket?.destroy(),
  silence: () => {},
};

const lines = () =>
  service
    .stdout()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('text of callers', () => {
  test.each(Object.keys(upstreamAnswers))(
    'is sent in submissions while the upstream answers with: %s',
    async (name) => {
      upstream.answer = upstreamAnswers[name] ?? expect.fail();
      const sending = formNames.flatMap((action) => [
        submitAction(action, name),
        ...encodings.map((encoding) => {
          const body = { form: action, [canary]: canary, ...fields[action] };
          return note(post(service, '/api/leads', encoding, body, headers()));
        }),
      ]);
      const subscription = { email: `${name.replace(' ', '-')}.${email}`, privacy: 'on' };
      const body = { contractor: canary, [canary]: canary, ...subscription };
      sending.push(note(post(service, '/api/subscribe', 'json', body, headers())));
      const before = answers.length;
      await Promise.all(sending);
      const statuses = new Set(answers.slice(before).map(({ status }) => status));
      expect(statuses.has(200)).toBe(true);
      expect(statuses.has(502)).toBe(name !== 'success');
      expect(upstream.delivered.at(-1)?.headers.authorization).toBe('Bearer gateway-secret');
    },
  );

  test('is sent in refused requests', async () => {
    upstream.answer = upstreamAnswers.success ?? expect.fail();
    const long = canary.repeat(300);
    const file = multipart([
      ['email', email],
      [
        canary,
        canary,
        `Content-Disposition: form-data; name="${canary}"; filename="${canary}"\r\nContent-Type: text/${canary}`,
      ],
    ]);
    for (const path of ['/api/leads', '/api/subscribe']) {
      await note(postRaw(service, path, 'json', `{"${canary}": ${canary}`, headers()));
      await note(postRaw(service, path, 'json', `{"email": {"${canary}": 1}}`, headers()));
      await note(postRaw(service, path, 'multipart', file, headers()));
      await note(postRaw(service, path, 'multipart', canary, headers()));
      await note(postRaw(service, path, 'urlencoded', `${canary}=%FF&email=${email}`, headers()));
      const type = { ...headers(), 'content-type': `text/${canary}; charset=${canary}` };
      await note(call(service, path, { headers: type, body: canary }));
      await note(call(service, path, { headers: { ...type, 'content-encoding': canary } }));
      for (const encoding of encodings) {
        await note(post(service, path, encoding, { email: canary, privacy: canary }, headers()));
        const tooLong = { form: 'contact', ...fields.contact, message: long };
        await note(post(service, path, encoding, tooLong, headers()));
        await note(post(service, path, encoding, { [long]: canary }, headers()));
      }
    }
    for (const action of [...formNames, canary, `${canary}%20`, `${canary}%zz`]) {
      for (const step of ['preview', 'execute']) {
        const path = `/api/agent/actions/${action}/${step}?${canary}=${canary}`;
        const basic = { ...headers(), authorization: `Basic ${canary}` };
        const bearer = { ...headers(), authorization: `Bearer ${tokens.both}.${canary}` };
        await note(call(service, path, { headers: basic, body: canary }));
        await note(call(service, path, { headers: bearer, body: canary }));
        await note(call(service, path, { method: 'DELETE', headers: bearer }));
      }
      const agent = { headers: headers() };
      const invalid = { name: `${canary}\u0000`, email: canary, phone: [canary] };
      await note(previewAction(service, action, invalid, agent));
      await note(previewAction(service, action, {}, { ...agent, raw: `{${canary}` }));
      await note(previewAction(service, action, fields.contact, { ...agent, token: tokens.create }));
      await note(executeAction(service, canary, { ...agent, action }));
      await note(executeAction(service, `${canary}.${canary}`, { ...agent, action }));
      await note(executeAction(service, canary, { ...agent, action, key: long }));
      const unconfirmed = { confirmation_text: canary, [canary]: canary };
      await note(executeAction(service, canary, { ...agent, action, body: unconfirmed }));
    }
    expect(new Set(answers.map(({ status }) => status))).toEqual(
      new Set([200, 303, 400, 401, 403, 404, 405, 409, 413, 422, 429, 502]),
    );
  });

  test('is sent in paths, discovery requests and invalid requests', async () => {
    for (const path of ['', '/quote', '/api/agent/content', '/api/agent/manifest', '/assets']) {
      for (const rest of [`?resource=${canary}`, `/${canary}`, `/%zz${canary}`, `#${canary}`]) {
        await note(call(service, path + rest, { method: 'GET', headers: headers() }));
        const accept = { ...headers(), accept: `text/html, ${canary}/*` };
        await note(call(service, path + rest, { method: 'GET', headers: accept }));
      }
    }
    for (const bytes of [
      `${canary.toUpperCase()} / HTTP/1.1\r\n\r\n`,
      `GET /${canary} HTTP/1.1\r\nHost: x\r\n${canary} : ${canary}\r\n\r\n`,
      `GET /${canary} HTTP/1.1\r\nHost: x\r\nX: ${canary.repeat(3_000)}\r\n\r\n`,
      `GET /${canary} HTTP/1.1\r\n\r\n${canary}`,
    ]) {
      for (const { status, body } of await exchange(service.url, bytes)) {
        expect(status).toBeGreaterThanOrEqual(400);
        expect(body).not.toContain(canary);
      }
    }
  });

  test('is sent in an execution while the store is unavailable', async () => {
    upstream.answer = upstreamAnswers.success ?? expect.fail();
    const { body } = await previewAction(service, 'contact', fields.contact);
    const database = new DatabaseSync(join(service.dataDir, 'service.db'));
    database.exec('begin immediate');
    const answer = await note(executeAction(service, body.preview_id, { action: 'contact', headers: headers() }));
    database.exec('rollback');
    database.close();
    expect(answer.status).toBe(503);
  });

  test('appears in no log line, error or metric', async () => {
    await expect.poll(() => mail.offered.join(), { timeout: 10_000 }).toContain(canary);
    const mails = () => lines().filter(({ msg }) => msg.startsWith('message '));
    await expect.poll(() => mails().length, { timeout: 5_000 }).toBeGreaterThan(0);
    const metrics = await metricsText(metricsPort);
    expect(metrics).toContain('http_server_request_duration_seconds_count');
    for (const [where, text] of Object.entries({
      logs: service.stdout(),
      crashes: service.stderr(),
      metrics,
    })) {
      expect([where, linesWith(text, [canary, ...secrets])]).toEqual([where, []]);
    }
    for (const { status, text, headers: said } of answers) {
      expect(JSON.stringify([...said])).not.toContain(canary);
      if (status >= 400) expect([status, linesWith(withoutForms(text), [canary, ...secrets])]).toEqual([status, []]);
    }
  });

  test('logs contain one JSON line per request with its id, route pattern and status', () => {
    const [greeting, ...events] = lines();
    expect(greeting).toMatchObject({ level: 'info', msg: expect.any(String) });
    for (const event of events) {
      expect(event).toMatchObject({ level: expect.any(String), msg: expect.any(String) });
      expect(new Date(event.time).toISOString()).toBe(event.time);
    }
    const requests = Map.groupBy(
      events.filter(({ msg }) => msg === 'request'),
      ({ requestId }) => requestId,
    );
    for (const { headers: said, status } of answers) {
      const logged = requests.get(said.get('x-request-id'));
      expect(logged).toEqual([expect.objectContaining({ status, route: expect.any(String) })]);
    }
    const routes = new Set(events.map(({ route }) => route));
    expect(routes).toContain('/api/agent/actions/:action/execute');
    expect(routes).toContain('unknown');
  });

  test('logs contain the trace id of a valid traceparent', async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const answer = await call(service, '/healthz', {
      method: 'GET',
      headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` },
    });
    const requestId = answer.headers.get('x-request-id');
    await expect
      .poll(() => lines().find((line) => line.requestId === requestId))
      .toMatchObject({ msg: 'request', route: '/healthz', status: 200, traceId });
  });
});

/** Previews and executes. The preview token contains the fields, so that it is secret too. */
async function submitAction(action: FormName, name: string): Promise<void> {
  const agent = { headers: headers() };
  const preview = await note(previewAction(service, action, fields[action], agent));
  const token: string = preview.body.preview_id;
  secrets.push(token);
  const key = `idempotency-of-${canary}-${action}-${name}`;
  await note(executeAction(service, token, { ...agent, action, key }));
  await note(executeAction(service, token, { ...agent, action, key }));
}

/** Removes forms, because a page may return a person's own values in them. */
function withoutForms(text: string): string {
  return text.replace(/<form[\s\S]*?<\/form>/g, '');
}

function linesWith(text: string, needles: string[]): string[] {
  return text.split('\n').filter((line) => {
    const lower = line.toLowerCase();
    return needles.some((needle) => lower.includes(needle.toLowerCase()));
  });
}
