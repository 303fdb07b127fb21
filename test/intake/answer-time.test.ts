import { afterEach, describe, expect, test } from 'vitest';
import { openAnswerTimes } from '../../src/intake/answer-time.ts';
import type { FormResult } from '../../src/intake/leads.ts';
import { testClock } from '../support/clock.ts';
import { encodings, post } from '../support/forms.ts';
import { scenario } from '../support/scenario.ts';
import { startService } from '../support/service.ts';
import { answering } from '../support/upstream.ts';

const event = 'subscriber.created';

/** A clock in which waiting takes no time of the test, and how long was waited on it. */
function countingClock() {
  const clock = testClock();
  clock.advance(17); // no whole step since the machine booted
  const slept: number[] = [];
  clock.sleep = async (ms) => {
    slept.push(ms);
    clock.advance(ms);
  };
  return { clock, slept };
}

describe('contract §4, "Timing": an answer at the end of a step of 50 ms', () => {
  test.each([
    [0, 50],
    [1, 49],
    [49, 1],
    [50, 50],
    [51, 49],
    [74, 26],
    [1_049, 1],
  ])('what the upstream answered %i ms ago waits another %i', async (elapsed, wanted) => {
    const { clock, slept } = countingClock();
    const answeredAt = clock.monotonic();
    // The time of the turn in which the commit was made counts as well.
    clock.turn = async () => clock.advance(elapsed);
    const accepted = { kind: 'accepted', event, upstream: { tookMs: 5, answeredAt } } as const;
    await openAnswerTimes(clock, () => 7).wait(accepted);
    expect(slept).toEqual([wanted, 7]);
  });
});

describe('contract §4, "Timing": a bot is answered like a person', () => {
  const person = (tookMs: number, of: 'lead.created' | typeof event = 'lead.created') =>
    ({ kind: 'accepted', event: of, upstream: { tookMs, answeredAt: 0 } }) as const;
  const bot = (of: 'lead.created' | typeof event = 'lead.created'): FormResult => ({
    kind: 'accepted',
    event: of,
    upstream: undefined,
  });

  test('after what one of the last 32 answers to persons took, drawn anew for each', async () => {
    const { clock, slept } = countingClock();
    let drawn = 0;
    const times = openAnswerTimes(clock, (count) => drawn++ % count);
    for (let took = 1; took <= 40; took += 1) await times.wait(person(took));
    for (let n = 1; n <= 64; n += 1) await times.wait(bot());
    const last = Array.from({ length: 32 }, (_, n) => n + 9);
    expect([...slept].sort((a, b) => a - b)).toEqual(last.flatMap((took) => [took, took]));
  });

  test('bots change nothing of what the next bots wait', async () => {
    const { clock, slept } = countingClock();
    const times = openAnswerTimes(clock);
    await times.wait(person(70));
    for (let n = 1; n <= 40; n += 1) await times.wait(bot());
    expect(new Set(slept)).toEqual(new Set([70]));
  });

  test('leads and subscriptions each have their own last answers, and before there is one it is 100 ms', async () => {
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

describe('who waits, and how long', () => {
  const at = scenario();
  const { clock } = at;
  const { sleep } = clock;
  afterEach(() => {
    clock.sleep = sleep;
  });

  /** How long the answer to these fields waited for its step; what is drawn on top of it is checked and left out. */
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

  /** An upstream that thinks so long. */
  const thinking =
    (ms: number, status: number) => (response: Parameters<typeof at.upstream.answer>[0]) => {
      clock.advance(ms);
      answering(status)(response);
    };

  const quote = { form: 'homeowner_quote', name: 'A', email: 'a@b.co', postal_code: '1' };
  const consent = { privacy: 'on' };

  test.each([5, 40, 46, 47, 96])(
    'an upstream that takes %i ms: members and strangers are answered equally long after it',
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
    '%s: a bot waits for what the upstream would have taken, and for the step that everybody waits for',
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

  test('the embedded inbox: what it takes to keep a stranger is inside the step', async () => {
    const embedded = await startService({ clock });
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

  test.each(encodings)('%s: nothing that is refused', async (encoding) => {
    expect(await waited(encoding, '/api/leads', { email: 'nope' })).toEqual([]);
    expect(await waited(encoding, '/api/subscribe', { email: 'nope', privacy: 'on' })).toEqual([]);
    at.upstream.answer = answering(500);
    expect(await waited(encoding, '/api/leads', quote)).toEqual([]);
  });
});
