/**
 * The bare servers: `node:http` and the honest minimum of one path, which is the argument. They answer
 * with the headers of the service (`SAMPLE`), and write a line for each request where it does.
 */
import { randomUUID, randomUUIDv7 } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { eventOf, forward } from './forward.ts';
import { type Answer, log, type Sample, serve } from './http.ts';
import { openLimit } from './limit.ts';
import { checkFields, clientOf, open, STATEMENT, seal, sha256 } from './minimum.ts';
import { openReceipts, type Receipts } from './receipts.ts';
import { openSubmissions } from './submissions.ts';

const sample: Sample = JSON.parse(process.env.SAMPLE ?? '');
const { headers } = sample;

const refuse = (status: number): Answer => ({ status, headers, body: '{"error":"refused"}' });

const floors: Record<string, () => Parameters<typeof serve>[0]> = {
  document() {
    const body = Buffer.from(sample.body, 'base64');
    return (request) =>
      request.headers['if-none-match'] === headers.etag
        ? { status: 304, headers, body: '' }
        : { status: 200, headers, body };
  },

  preview() {
    const count = openLimit(60_000);
    return (request, body) => {
      const counted = count(request);
      if (counted > 60) return refuse(429);
      if (clientOf(request.headers.authorization) === undefined) return refuse(401);
      const fields = checkFields(JSON.parse(body.toString()));
      if (fields === undefined) return refuse(400);
      return {
        status: 200,
        headers: { ...headers, ratelimit: `"preview";r=${60 - counted};t=60` },
        body: JSON.stringify(seal(fields)),
      };
    };
  },

  lead() {
    const count = openLimit(900_000);
    const submissions = openSubmissions(`${process.env.DATA_DIR}/floor.db`);
    return async (request, body) => {
      const json = request.headers['content-type'] === 'application/json';
      const raw = json
        ? JSON.parse(body.toString())
        : Object.fromEntries(new URLSearchParams(body.toString()));
      const fields = checkFields(raw);
      if (fields === undefined) return refuse(400);
      const counted = count(request);
      if (counted > 5) return refuse(429);
      const id = randomUUIDv7();
      const at = new Date().toISOString();
      const event = eventOf(id, fields, null, at);
      await submissions.keep(id, fields.email ?? '', event, at);
      const startedAt = performance.now();
      const status = await forward(id, event);
      const attempt = JSON.stringify({ at, ms: performance.now() - startedAt, status });
      const settled = submissions.settle(id, status === 200 ? 'delivered' : 'waiting', attempt);
      if (status !== 200) await settled;
      log({ submissionId: id, form: 'contact', status });
      if (status !== 200) return refuse(502);
      const limited = { ...headers, ratelimit: `"leads";r=${5 - counted};t=900` };
      return json
        ? { status: 200, headers: limited, body: '{"ok":true}' }
        : { status: 303, headers: limited, body: '' };
    };
  },

  execute: () => executions(openReceipts(`${process.env.DATA_DIR}/floor.db`)),

  executeEachAlone: () =>
    executions(openReceipts(`${process.env.DATA_DIR}/floor.db`, { eachAlone: true })),
};

function executions(receipts: Receipts): Parameters<typeof serve>[0] {
  const count = openLimit(60_000);
  return async (request: IncomingMessage, body: Buffer) => {
    const counted = count(request);
    if (counted > 20) return refuse(429);
    const client = clientOf(request.headers.authorization);
    if (client === undefined) return refuse(401);
    const key = request.headers['idempotency-key'];
    if (typeof key !== 'string' || key.length > 200) return refuse(400);
    const { preview_id: token, confirmation, confirmation_text } = JSON.parse(body.toString());
    if (confirmation !== true || confirmation_text !== STATEMENT) return refuse(409);
    const fields = open(token);
    if (fields === undefined) return refuse(400);
    const actionId = randomUUID();
    const createdAt = new Date().toISOString();
    if (!(await receipts.claim(actionId, client, key, sha256(token), createdAt))) {
      return refuse(409);
    }
    const event = eventOf(actionId, fields, client, createdAt);
    const status = (await forward(actionId, event)) === 200 ? 'submitted' : 'failed';
    await receipts.settle(actionId, status, new Date().toISOString());
    log({ actionId, action: 'contact', client, status });
    const receipt = {
      action_id: actionId,
      action: 'contact',
      status,
      created_at: createdAt,
      consent_recorded_at: createdAt,
      confirmation_text,
      result: { ok: status === 'submitted' },
    };
    return {
      status: 200,
      headers: { ...headers, ratelimit: `"execute";r=${20 - counted};t=60` },
      body: JSON.stringify({ ok: true, receipt }),
    };
  };
}

const floor = floors[process.argv[2] ?? ''];
if (floor === undefined) throw new Error(`There is no floor ${process.argv[2]}.`);
serve(floor());
