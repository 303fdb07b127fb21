/** Who is on the list can't be told from who is not, nor a bot from a person (ASVS 6.3.8). */
import { Agent, request } from 'node:http';
import { beforeAll, describe, expect, test } from 'vitest';
import { mannWhitney } from '../../support/mann-whitney.ts';
import { type ServiceProcess, startProcess } from '../../support/process.ts';
import { freshAddress } from '../../support/service.ts';

const EACH = 1_000;
const AT_ONCE = 16;

const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

type Timed = { elapsedMs: number; answer: string };

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
        const { date: _, 'x-request-id': __, ...said } = got.headers;
        const answer = JSON.stringify([got.statusCode, said, body]);
        resolve({ elapsedMs: performance.now() - startedAt, answer });
      });
    });
    sending.on('error', reject);
    sending.end(JSON.stringify(fields));
  });
}

/** Asks for each kind the same number of times, in no order; returns the times and the answers. */
async function compare(kinds: (() => Promise<Timed>)[]) {
  const times: number[][] = kinds.map(() => []);
  const answers = new Set<string>();
  const turns = kinds.flatMap((_, kind) => Array.from({ length: EACH }, () => kind));
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
