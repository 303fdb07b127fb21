/**
 * The bare servers. Each one uses `node:http` and does only the necessary work of one path, whose name is the argument.
 * A bare server answers with the headers of the service (`SAMPLE`), and writes a log line for each request if the
 * service does. With `DUTIES=none` it omits the work of `duties.ts`.
 */
import { createHash, randomUUIDv7 } from 'node:crypto';
import { OPERATOR } from '../settings.ts';
import { openDatabase } from './database.ts';
import { headersOf } from './duties.ts';
import { eventOf, forward } from './forward.ts';
import { type Answer, type Handle, log, type Sample, serve } from './http.ts';
import { leadsPage } from './leads-page.ts';
import { openLimit } from './limit.ts';
import { checkFields, clientOf, open, STATEMENT, seal, sha256 } from './minimum.ts';
import { openReceipts } from './receipts.ts';
import { openSubmissions } from './submissions.ts';

const sample: Sample = JSON.parse(process.env.SAMPLE ?? '');
const headers = headersOf(sample.headers);

const refuse = (status: number): Answer => ({ status, headers, body: '{"error":"refused"}' });

const floors: Record<string, () => Handle | Promise<Handle>> = {
  document() {
    const body = Buffer.from(sample.body, 'base64');
    const { etag } = sample.headers;
    return (request) =>
      request.headers['if-none-match'] === etag ? { status: 304, headers, body: '' } : { status: 200, headers, body };
  },

  preview() {
    const take = openLimit({ name: 'preview', most: 60, windowSeconds: 60 });
    return (request, body) => {
      const limited = take(request);
      if (limited === undefined) return refuse(429);
      if (clientOf(request.headers.authorization) === undefined) return refuse(401);
      const fields = checkFields(JSON.parse(body.toString()));
      if (fields === undefined) return refuse(400);
      const answered = JSON.stringify(seal(fields));
      return { status: 200, headers: { ...headers, ...limited }, body: answered };
    };
  },

  async lead() {
    const take = openLimit({ name: 'leads', most: 5, windowSeconds: 900 });
    const database = await openDatabase();
    const submissions = openSubmissions(database);
    return async (request, body) => {
      const json = request.headers['content-type'] === 'application/json';
      const raw = json ? JSON.parse(body.toString()) : Object.fromEntries(new URLSearchParams(body.toString()));
      const fields = checkFields(raw);
      if (fields === undefined) return refuse(400);
      const limited = take(request);
      if (limited === undefined) return refuse(429);
      const id = randomUUIDv7();
      const at = new Date().toISOString();
      const event = eventOf(id, fields, null, at);
      const digest = createHash('sha256').update(JSON.stringify(fields)).digest('hex');
      await database.write(() => {
        submissions.insert({ id, fields, event, digest });
        return true;
      });
      const { status, attempt } = await attempted(id, event, at);
      const isConfirmed = status === 200;
      const ended = database.write(() => submissions.end(id, isConfirmed ? 'delivered' : 'undelivered', attempt));
      if (!isConfirmed) await ended;
      log({ submissionId: id, form: 'contact', status });
      if (!isConfirmed) return refuse(502);
      const answer = json ? { status: 200, body: '{"ok":true}' } : { status: 303, body: '' };
      return { ...answer, headers: { ...headers, ...limited } };
    };
  },

  execute: () => executions(),

  executeEachAlone: () => executions({ eachAlone: true }),

  leadsPage: () => leadsPage(Buffer.from(sample.body, 'base64').toString(), headers),
};

async function executions(commits = {}): Promise<Handle> {
  const take = openLimit({ name: 'execute', most: 20, windowSeconds: 60 });
  const database = await openDatabase(commits);
  const receipts = openReceipts(database, openSubmissions(database));
  return async (request, body) => {
    const limited = take(request);
    if (limited === undefined) return refuse(429);
    const client = clientOf(request.headers.authorization);
    if (client === undefined) return refuse(401);
    const key = request.headers['idempotency-key'];
    if (typeof key !== 'string' || key.length > 200) return refuse(400);
    const { preview_id: token, confirmation, confirmation_text } = JSON.parse(body.toString());
    if (confirmation !== true || confirmation_text !== STATEMENT) return refuse(409);
    const fields = open(token);
    if (fields === undefined) return refuse(400);
    const id = randomUUIDv7();
    const at = new Date().toISOString();
    const event = eventOf(id, fields, client, at);
    const consent = { at, statement: STATEMENT, destination: OPERATOR };
    const claim = { client, key, digest: sha256(token), ...consent };
    if (!(await receipts.claim(claim, { id, fields, event, digest: null }))) return refuse(409);
    const { status, attempt } = await attempted(id, event, at);
    const isConfirmed = status === 200;
    await receipts.settle(claim, id, isConfirmed, attempt);
    log({ actionId: id, action: 'contact', client, status });
    const receipt = {
      action_id: id,
      action: 'contact',
      status: isConfirmed ? 'submitted' : 'failed',
      created_at: at,
      consent_recorded_at: at,
      confirmation_text,
      result: { ok: isConfirmed },
    };
    const answered = JSON.stringify({ ok: true, receipt });
    return { status: 200, headers: { ...headers, ...limited }, body: answered };
  };
}

/** Sends an event. Returns the upstream's status, and the attempt as a line for the submission's row. */
async function attempted(id: string, event: string, at: string) {
  const startedAt = performance.now();
  const status = await forward(id, event);
  const ms = Math.round(performance.now() - startedAt);
  const outcome = status === 200 ? 'confirmed' : 'unconfirmed';
  return { status, attempt: JSON.stringify({ at, ms, outcome, by: 'first' }) };
}

const floor = floors[process.argv[2] ?? ''];
if (floor === undefined) throw new Error(`There is no floor ${process.argv[2]}.`);
serve(await floor());
