/**
 * Answers do not distinguish members from strangers, nor bots from people (ASVS 6.3.8). `SAMPLES=10000` measures more
 * precisely than a run of CI.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { inTurn } from '../../support/in-turn.ts';
import { mannWhitney } from '../../support/mann-whitney.ts';
import { type ServiceProcess, startProcess } from '../../support/process.ts';
import { expectAlike, type Kinds, post, SAMPLES, sample } from '../../support/timing.ts';
import { type ProgrammableUpstream, startUpstream } from '../../support/upstream.ts';

vi.setConfig({ testTimeout: 120_000 + 120 * SAMPLES });

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

describe('membership timing', () => {
  test('answers members, strangers and bots identically and equally fast on /api/subscribe', async () => {
    const subscribe = (fields: object) => post(service, '/api/subscribe', { privacy: 'on', ...fields });
    await expectAlike(() => ({
      strangers: () => subscribe({ email: stranger() }),
      members: () => subscribe({ email: member }),
      bots: () => subscribe({ email: stranger(), 'bot-field': 'x' }),
    }));
  });

  test('answers members and strangers identically and equally fast for a newsletter on /api/leads', async () => {
    await expectAlike(() => ({
      strangers: () => post(service, '/api/leads', { form: 'newsletter', email: stranger() }),
      members: () => post(service, '/api/leads', { form: 'newsletter', email: member }),
    }));
  });

  test('the measurement detects the difference between a refused and a delivered request', async () => {
    const lead = () => ({ form: 'contact', email: stranger(), name: 'A', subject: 'B' });
    const { times } = await sample(
      {
        refused: () => post(service, '/api/subscribe', { email: stranger(), privacy: 'no' }),
        taken: () => post(service, '/api/leads', { ...lead(), message: 'C' }),
      },
      1_000,
    );
    expect(Math.abs(mannWhitney(times[0] ?? [], times[1] ?? []))).toBeGreaterThan(10);
  });
});

describe('membership timing with a slow upstream', () => {
  /** Enough to detect a commit that crosses a step. 60 of each sufficed while the step began with the request. */
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

  /** Returns the kinds that are compared on a route. */
  const of = (path: string): Kinds => ({
    strangers: () => post(behind, path, person()),
    members: () => post(behind, path, { ...person(), email: member }),
    bots: () => post(behind, path, { ...person(), 'bot-field': 'x' }),
  });

  test.each(inTurn([5, 40, 46, 47, 96], 3))(
    'answers members, strangers and bots equally fast with an upstream of %i ms',
    async (latency) => {
      // The upstream recognizes members and takes equally long for everybody.
      upstream.answer = (response, { event }) =>
        void setTimeout(
          () => response.writeHead((event.data.fields as { email: string }).email === member ? 409 : 200).end(),
          latency,
        );
      // The service has now measured this latency in its last answers.
      await sample({ leads: () => post(behind, '/api/leads', person()) }, 50);
      await expectAlike(() => of('/api/subscribe'), { each: FEW });
      await expectAlike(() => of('/api/leads'), { each: FEW });
    },
  );

  test('answers a bot on /api/leads as fast as a lead with an upstream of 20 to 40 ms', async () => {
    upstream.answer = (response) => void setTimeout(() => response.writeHead(200).end(), 20 + Math.random() * 20);
    const leads = () => post(behind, '/api/leads', lead());
    await sample({ leads }, 50);
    await expectAlike(() => ({ leads, bots: () => post(behind, '/api/leads', { ...lead(), 'bot-field': 'x' }) }), {
      each: FEW,
    });
  });
});
