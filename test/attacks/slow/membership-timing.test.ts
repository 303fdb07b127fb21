/** Who is on the list can't be told from who is not, nor a bot from a person (ASVS 6.3.8). */
import { Agent, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mannWhitney } from '../../support/mann-whitney.ts';
import { type ServiceProcess, startProcess } from '../../support/process.ts';
import { freshAddress } from '../../support/service.ts';
import { type ProgrammableUpstream, startUpstream } from '../../support/upstream.ts';

const EACH = 1_000;
const AT_ONCE = 16;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

type Timed = { elapsedMs: number; answer: string };

const referred = new Set<string>();

/** What a reference says: only that it is one, and whether it was given before. */
function freshness(reference: string): string {
  const wasNew = !referred.has(reference);
  referred.add(reference);
  return `${UUID.test(reference) ? 'an id' : reference}, ${wasNew ? 'new' : 'seen before'}`;
}

/** Posts JSON; returns how long the answer took, and all of it that a client could look at. */
function post(service: ServiceProcess, path: string, fields: object): Promise<Timed> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': freshAddress() };
    const startedAt = performance.now();
    const sending = request(`${service.url}${path}`, { agent, method: 'POST', headers }, (got) => {
      let body = '';
      got.setEncoding('utf8').on('data', (text) => {
        body += text;
      });
      got.on('end', () => {
        const {
          date: _,
          'x-request-id': __,
          'submission-reference': reference,
          ...said
        } = got.headers;
        // A reference is new for each request, a member's and a bot's too.
        const told = reference === undefined ? 'none' : freshness(String(reference));
        const answer = JSON.stringify([got.statusCode, said, told, body]);
        resolve({ elapsedMs: performance.now() - startedAt, answer });
      });
    });
    sending.on('error', reject);
    sending.end(JSON.stringify(fields));
  });
}

/** Asks for each kind so many times, in no order; returns the times and the answers. */
async function compare(kinds: (() => Promise<Timed>)[], each = EACH) {
  const times: number[][] = kinds.map(() => []);
  const answers = new Set<string>();
  const turns = kinds.flatMap((_, kind) => Array.from({ length: each }, () => kind));
  for (let last = turns.length - 1; last > 0; last -= 1) {
    const other = Math.floor(Math.random() * (last + 1));
    [turns[last], turns[other]] = [turns[other] ?? 0, turns[last] ?? 0];
  }
  const work = async () => {
    for (let kind = turns.pop(); kind !== undefined; kind = turns.pop()) {
      const { elapsedMs, answer } = (await kinds[kind]?.()) ?? expect.fail();
      times[kind]?.push(elapsedMs);
      answers.add(answer);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { times, answers };
}

let service: ServiceProcess;
let people = 0;
const stranger = () => `stranger${++people}@example.com`;
const member = 'member@example.com';

beforeAll(async () => {
  service = await startProcess({ environment: { MAIL_PER_MINUTE: '1', LOG_LEVEL: 'warn' } });
  await post(service, '/api/subscribe', { email: member, privacy: 'on' });
  // The first requests of a process are slower than all others.
  for (let n = 0; n < 200; n += 1) {
    await post(service, '/api/leads', { form: 'newsletter', email: stranger() });
  }
});

describe('telling members from others, bots from people', () => {
  test('/api/subscribe: members, strangers and bots get one answer in one time', async () => {
    const { times, answers } = await compare([
      () => post(service, '/api/subscribe', { email: member, privacy: 'on' }),
      () => post(service, '/api/subscribe', { email: stranger(), privacy: 'on' }),
      () => post(service, '/api/subscribe', { email: stranger(), privacy: 'on', 'bot-field': 'x' }),
    ]);
    const [members = [], strangers = [], bots = []] = times;
    expect(answers.size).toBe(1);
    expect(Math.abs(mannWhitney(members, strangers))).toBeLessThan(4);
    expect(Math.abs(mannWhitney(bots, strangers))).toBeLessThan(4);
  });

  test('a newsletter on /api/leads: members and strangers, the same', async () => {
    const { times, answers } = await compare([
      () => post(service, '/api/leads', { form: 'newsletter', email: member }),
      () => post(service, '/api/leads', { form: 'newsletter', email: stranger() }),
    ]);
    const [members = [], strangers = []] = times;
    expect(answers.size).toBe(1);
    expect(Math.abs(mannWhitney(members, strangers))).toBeLessThan(4);
  });

  test('the test would see a difference: what is refused at once is quicker', async () => {
    const { times } = await compare([
      () => post(service, '/api/subscribe', { email: stranger(), privacy: 'no' }),
      () =>
        post(service, '/api/leads', {
          form: 'contact',
          email: stranger(),
          name: 'A',
          subject: 'B',
          message: 'C',
        }),
    ]);
    expect(Math.abs(mannWhitney(times[0] ?? [], times[1] ?? []))).toBeGreaterThan(10);
  });
});

describe('an upstream that takes its time', () => {
  /** Enough to see a commit that crosses a step: 60 of each were, while the step began with the request. */
  const FEW = 200;
  let upstream: ProgrammableUpstream;
  let behind: ServiceProcess;

  beforeAll(async () => {
    upstream = await startUpstream();
    const environment = { UPSTREAM_URL: upstream.url, MAIL_PER_MINUTE: '1', LOG_LEVEL: 'warn' };
    behind = await startProcess({ environment });
  });
  afterAll(() => upstream.close());

  const person = () => ({ email: stranger(), privacy: 'on' });
  const lead = () => ({ form: 'contact', ...person(), name: 'A', subject: 'B', message: 'C' });

  test.each([5, 40, 46, 47, 96])('%i ms: members, strangers and bots', async (latency) => {
    // It knows members, and takes as long for everybody.
    upstream.answer = (response, { event }) =>
      void setTimeout(
        () =>
          response
            .writeHead((event.data.fields as { email: string }).email === member ? 409 : 200)
            .end(),
        latency,
      );
    // The last answers are of this latency.
    await compare([() => post(behind, '/api/leads', person())], 50);
    const { times } = await compare(
      [
        () => post(behind, '/api/subscribe', { email: member, privacy: 'on' }),
        () => post(behind, '/api/subscribe', person()),
        () => post(behind, '/api/subscribe', { ...person(), 'bot-field': 'x' }),
        () => post(behind, '/api/leads', { email: member }),
        () => post(behind, '/api/leads', person()),
        () => post(behind, '/api/leads', { ...person(), 'bot-field': 'x' }),
      ],
      FEW,
    );
    const [members = [], strangers = [], bots = [], ...onLeads] = times;
    const [membersOnLeads = [], strangersOnLeads = [], botsOnLeads = []] = onLeads;
    const scores = [
      mannWhitney(members, strangers),
      mannWhitney(bots, strangers),
      mannWhitney(membersOnLeads, strangersOnLeads),
      mannWhitney(botsOnLeads, strangersOnLeads),
    ];
    expect(scores.filter((score) => Math.abs(score) >= 4)).toEqual([]);
  });

  test('20 ms, or up to 20 more: a bot on /api/leads takes as long as a lead', async () => {
    upstream.answer = (response) =>
      void setTimeout(() => response.writeHead(200).end(), 20 + Math.random() * 20);
    await compare([() => post(behind, '/api/leads', lead())], 50);
    const { times } = await compare(
      [
        () => post(behind, '/api/leads', lead()),
        () => post(behind, '/api/leads', { ...lead(), 'bot-field': 'x' }),
      ],
      FEW,
    );
    const [leads = [], bots = []] = times;
    expect(Math.abs(mannWhitney(bots, leads))).toBeLessThan(4);
  });
});
