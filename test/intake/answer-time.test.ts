import { afterEach, describe, expect, test } from 'vitest';
import { untilStep } from '../../src/intake/answer-time.ts';
import { testClock } from '../support/clock.ts';
import { encodings, post } from '../support/forms.ts';
import { scenario } from '../support/scenario.ts';
import { answering } from '../support/upstream.ts';

describe('spec §4.7: an answer at the end of a step of 50 ms', () => {
  test.each([
    [0, 50],
    [1, 49],
    [49, 1],
    [50, 50],
    [51, 49],
    [74, 26],
    [1_049, 1],
  ])('what came %i ms ago waits another %i', async (elapsed, wanted) => {
    const clock = testClock();
    clock.advance(17); // no whole step since the machine booted
    const cameAt = clock.monotonic();
    const slept: number[] = [];
    clock.sleep = async (ms) => void slept.push(ms);
    // The time of the turn in which the commit was made counts as well.
    clock.turn = async () => clock.advance(elapsed);
    await untilStep(clock, cameAt);
    expect(slept).toEqual([wanted]);
  });
});

describe('who waits for it', () => {
  const at = scenario();
  const { clock } = at;
  const { sleep } = clock;
  afterEach(() => {
    clock.sleep = sleep;
  });

  /** How long the answer to these fields waited. */
  async function waited(
    encoding: (typeof encodings)[number],
    path: string,
    fields: Record<string, string>,
  ): Promise<number[]> {
    const slept: number[] = [];
    clock.sleep = async (ms) => void slept.push(ms);
    await post(at.service, path, encoding, fields);
    return slept;
  }

  const quote = { form: 'homeowner_quote', name: 'A', email: 'a@b.co', postal_code: '1' };

  test.each(encodings)(
    '%s: every subscription that is a success, whatever became of it',
    async (encoding) => {
      const email = `${encoding}@steps.example`;
      const consent = { privacy: 'on' };
      expect(await waited(encoding, '/api/subscribe', { email, ...consent })).toEqual([50]);
      expect(await waited(encoding, '/api/leads', { email })).toEqual([50]);
      at.upstream.answer = answering(409);
      expect(await waited(encoding, '/api/subscribe', { email, ...consent })).toEqual([50]);
      const bot = { email, ...consent, 'bot-field': 'x' };
      expect(await waited(encoding, '/api/subscribe', bot)).toEqual([50]);
      expect(await waited(encoding, '/api/leads', bot)).toEqual([50]);
    },
  );

  test.each(encodings)('%s: no lead, and nothing that is refused', async (encoding) => {
    expect(await waited(encoding, '/api/leads', quote)).toEqual([]);
    expect(await waited(encoding, '/api/leads', { ...quote, 'bot-field': 'x' })).toEqual([]);
    expect(await waited(encoding, '/api/leads', { email: 'nope' })).toEqual([]);
    expect(await waited(encoding, '/api/subscribe', { email: 'nope', privacy: 'on' })).toEqual([]);
  });
});
