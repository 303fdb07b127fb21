import { afterEach, describe, expect, test } from 'vitest';
import { openAnswerTimes } from '../../src/intake/answer-time.ts';
import type { FormResult } from '../../src/intake/leads.ts';
import { testClock } from '../support/clock.ts';
import { encodings, post } from '../support/forms.ts';
import { scenario } from '../support/scenario.ts';
import { startService } from '../support/service.ts';
import { answering } from '../support/upstream.ts';

const event = 'subscriber.created';

/** Returns a clock whose waits take no real time, and a list of the waits. */
function countingClock() {
  const clock = testClock();
  clock.advance(17); // not a multiple of the step since the machine booted
  const slept: number[] = [];
  clock.sleep = async (ms) => {
    slept.push(ms);
    clock.advance(ms);
  };
  return { clock, slept };
}

describe('openAnswerTimes, steps of 50 ms (reference §4.10)', () => {
  test.each([
    [0, 50],
    [1, 49],
    [49, 1],
    [50, 50],
    [51, 49],
    [74, 26],
    [1_049, 1],
  ])('if %i ms have passed since the answer of the upstream, waits another %i ms', async (elapsed, wanted) => {
    const { clock, slept } = countingClock();
    const answeredAt = clock.monotonic();
    // The turn in which the commit is made counts as well.
    clock.turn = async () => clock.advance(elapsed);
    const accepted = { kind: 'accepted', event, upstream: { tookMs: 5, answeredAt } } as const;
    await openAnswerTimes(clock, () => 7).wait(accepted);
    expect(slept).toEqual([wanted, 7]);
  });
});

describe('openAnswerTimes, bots (reference §4.10)', () => {
  const person = (tookMs: number, of: 'lead.created' | typeof event = 'lead.created') =>
    ({ kind: 'accepted', event: of, upstream: { tookMs, answeredAt: 0 } }) as const;
  const bot = (of: 'lead.created' | typeof event = 'lead.created'): FormResult => ({
    kind: 'accepted',
    event: of,
    upstream: undefined,
  });

  test('waits as long as one of the last 32 answers to persons took, chosen at random', async () => {
    const { clock, slept } = countingClock();
    let drawn = 0;
    const times = openAnswerTimes(clock, (count) => drawn++ % count);
    for (let took = 1; took <= 40; took += 1) await times.wait(person(took));
    for (let n = 1; n <= 64; n += 1) await times.wait(bot());
    const last = Array.from({ length: 32 }, (_, n) => n + 9);
    expect([...slept].sort((a, b) => a - b)).toEqual(last.flatMap((took) => [took, took]));
  });

  test('bases the wait on answers to persons, not on answers to bots', async () => {
    const { clock, slept } = countingClock();
    const times = openAnswerTimes(clock);
    await times.wait(person(70));
    for (let n = 1; n <= 40; n += 1) await times.wait(bot());
    expect(new Set(slept)).toEqual(new Set([70]));
  });

  test('keeps separate answer times for leads and subscriptions, and waits 100 ms before the first answer to a person', async () => {
    const { clock, slept } = countingClock();
    const drawnBelow: number[] = [];
    const times = openAnswerTimes(clock, (limit) => {
      drawnBelow.push(limit);
      return 0;
    });
    await times.wait(bot());
    await times.wait(person(70));
    await times.wait(bot());
    await times.wait(bot(event));
    expect(slept).toEqual([100, 70, 150, 0]);
    expect(drawnBelow).toEqual([0, 1, 0, 16]);
  });
});

describe('answer times of /api/subscribe and /api/leads', () => {
  const at = scenario();
  const { clock } = at;
  const { sleep } = clock;
  afterEach(() => {
    clock.sleep = sleep;
  });

  /** Returns the wait for the step, after checking and dropping the random part. */
  async function waited(
    encoding: (typeof encodings)[number],
    path: string,
    fields: Record<string, string>,
    service = at.service,
  ): Promise<number[]> {
    const slept: number[] = [];
    clock.sleep = async (ms) => void slept.push(ms);
    await post(service, path, encoding, fields);
    const [step, drawn = 0, ...more] = slept;
    expect(more).toEqual([]);
    expect([0, 15, drawn].toSorted((a, b) => a - b)[1]).toBe(drawn);
    return step === undefined ? [] : [step];
  }

  /** Returns an upstream that answers after that time. */
  const thinking = (ms: number, status: number) => (response: Parameters<typeof at.upstream.answer>[0]) => {
    clock.advance(ms);
    answering(status)(response);
  };

  const quote = { form: 'homeowner_quote', name: 'A', email: 'a@b.co', postal_code: '1' };
  const consent = { privacy: 'on' };

  test.each([5, 40, 46, 47, 96])(
    'answers after the same time for known and new addresses if the upstream takes %i ms',
    async (latency) => {
      const { outbox = expect.fail() } = at.service.parts;
      const { messageTo } = outbox;
      let commits = 0;
      outbox.messageTo = (email) => {
        clock.advance(4);
        commits += 4;
        return messageTo(email);
      };
      for (const path of ['/api/subscribe', '/api/leads']) {
        const email = `person${latency}@latency.example`;
        at.upstream.answer = thinking(latency, 409);
        expect(await waited('json', path, { email, ...consent })).toEqual([50]);
        at.upstream.answer = thinking(latency, 200);
        commits = 0;
        const slept = await waited('json', path, { email, ...consent });
        expect([path, commits]).toEqual([path, path === '/api/subscribe' ? 4 : 0]);
        expect(slept).toEqual([50 - commits]);
      }
      outbox.messageTo = messageTo;
    },
  );

  test.each(encodings)(
    '%s: the answer to a bot takes the usual time of the upstream, plus 50 ms for a subscription',
    async (encoding) => {
      const email = `${encoding}@steps.example`;
      at.upstream.answer = thinking(80, 200);
      for (let n = 0; n < 32; n += 1) {
        await waited(encoding, '/api/leads', { email });
        expect(await waited(encoding, '/api/leads', quote)).toEqual([]);
      }
      const bot = { email, ...consent, 'bot-field': 'x' };
      expect(await waited(encoding, '/api/subscribe', bot)).toEqual([130]);
      expect(await waited(encoding, '/api/leads', bot)).toEqual([130]);
      expect(await waited(encoding, '/api/leads', { ...quote, 'bot-field': 'x' })).toEqual([80]);
    },
  );

  test('counts the time that storing takes as part of the 50 ms, with the embedded inbox', async () => {
    // Without timers, no job of the service writes meanwhile. The clock still has the test's `sleep`.
    const timeless = Object.assign(Object.create(clock), { after: () => () => {} });
    const embedded = await startService({ clock: timeless });
    const { storage } = embedded.parts;
    const { write } = storage;
    let took = 3;
    storage.write = async (run) => {
      const result = await write(run);
      clock.advance(took);
      return result;
    };
    const own = (path: string) => ({ email: `own@${path.length}.example`, ...consent });
    const answers = [];
    for (const path of ['/api/subscribe', '/api/leads']) {
      took = 3;
      answers.push(await waited('json', path, own(path), embedded));
      took = 0;
      answers.push(await waited('json', path, own(path), embedded));
    }
    await embedded.close();
    expect(answers).toEqual([[47], [50], [47], [50]]);
  });

  test.each(encodings)('%s: answers a refused form and a failed delivery without a wait', async (encoding) => {
    expect(await waited(encoding, '/api/leads', { email: 'nope' })).toEqual([]);
    expect(await waited(encoding, '/api/subscribe', { email: 'nope', privacy: 'on' })).toEqual([]);
    at.upstream.answer = answering(500);
    expect(await waited(encoding, '/api/leads', quote)).toEqual([]);
  });
});
