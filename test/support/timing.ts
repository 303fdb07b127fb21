/** Compares answers by their bytes and durations, like an attacker who searches for a difference. */
import { Agent, request } from 'node:http';
import { expect } from 'vitest';
import { mannWhitney } from './mann-whitney.ts';
import { freshAddress, type Service } from './service.ts';

const given = process.env.SAMPLES;

/** Samples of each kind. With `SAMPLES=10000`, one precise measurement runs and prints its result. CI uses fewer. */
export const SAMPLES = Number(given ?? 1_000);

const AT_ONCE = 16;
/** Score above which samples differ. Two samples of one distribution exceed it once in 15,000 times. */
const ALIKE = 4;
/** Number of tries with new samples, because a busy moment of the machine can also cause a difference. */
const CHANCES = given === undefined ? 3 : 1;

const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

export type Told = { elapsedMs: number; answer: string };

/** Kinds of requests to compare, by name. Each call sends one request. */
export type Kinds = Record<string, () => Promise<Told>>;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const referred = new Set<string>();

/** Describes a reference, whose value always differs: whether it is an id, and whether it is new. */
function freshness(reference: string): string {
  const wasNew = !referred.has(reference);
  referred.add(reference);
  return `${UUID.test(reference) ? 'an id' : reference}, ${wasNew ? 'new' : 'seen before'}`;
}

/** Sends a request from a new address, with fields as JSON if there are any. Returns its duration and its answer. */
export function timed(
  service: Pick<Service, 'url'>,
  method: 'GET' | 'POST',
  path: string,
  fields?: object,
): Promise<Told> {
  return new Promise((resolve, reject) => {
    const headers = {
      'x-forwarded-for': freshAddress(),
      ...(fields !== undefined && { 'content-type': 'application/json' }),
    };
    const startedAt = performance.now();
    const sending = request(`${service.url}${path}`, { agent, method, headers }, (got) => {
      let body = '';
      got.setEncoding('utf8').on('data', (text) => {
        body += text;
      });
      got.on('end', () => {
        const elapsedMs = performance.now() - startedAt;
        const { date: _, 'x-request-id': __, 'submission-reference': reference, ...said } = got.headers;
        // Each request gets a new reference, also those of members and bots.
        const told = reference === undefined ? 'none' : freshness(String(reference));
        resolve({ elapsedMs, answer: JSON.stringify([got.statusCode, said, told, body]) });
      });
    });
    sending.on('error', reject);
    sending.end(fields && JSON.stringify(fields));
  });
}

export const post = (service: Pick<Service, 'url'>, path: string, fields: object) =>
  timed(service, 'POST', path, fields);

/** Sends each kind equally often, in random order. Returns the durations by kind, and the answers. */
export async function sample(kinds: Kinds, each = SAMPLES) {
  const times = Object.keys(kinds).map((): number[] => []);
  const answers = new Set<string>();
  const turns = times.flatMap((_, kind) => Array.from({ length: each }, () => kind));
  for (let last = turns.length - 1; last > 0; last -= 1) {
    const other = Math.floor(Math.random() * (last + 1));
    [turns[last], turns[other]] = [turns[other] ?? 0, turns[last] ?? 0];
  }
  const run = Object.values(kinds);
  const work = async () => {
    for (let kind = turns.pop(); kind !== undefined; kind = turns.pop()) {
      const { elapsedMs, answer } = (await run[kind]?.()) ?? expect.fail();
      times[kind]?.push(elapsedMs);
      answers.add(answer);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { times, answers };
}

/**
 * Expects that the kinds can't be told apart: equal answers, and equal durations as far as can be measured. `draw`
 * creates new kinds for each try.
 */
export async function expectAlike(draw: () => Kinds | Promise<Kinds>, { each = SAMPLES } = {}): Promise<void> {
  const scores: number[] = [];
  do {
    const kinds = await draw();
    const { times, answers } = await sample(kinds, each);
    expect(answers.size).toBe(1);
    const [first = [], ...others] = times;
    const compared = others.map((other) => mannWhitney(other, first));
    if (given !== undefined) print(Object.keys(kinds), times, compared);
    scores.push(Math.max(...compared.map(Math.abs)));
  } while (scores.length < CHANCES && (scores.at(-1) ?? 0) >= ALIKE);
  expect(Math.min(...scores)).toBeLessThan(ALIKE);
}

/** Prints the scores, and how often a kind took longer than the first. It is 50 % if they have equal durations. */
function print(names: readonly string[], times: number[][], compared: readonly number[]): void {
  const rows = names.map((kind, index) => {
    const sorted = (times[index] ?? []).toSorted((left, right) => left - right);
    const at = (share: number) => sorted[Math.floor(sorted.length * share)]?.toFixed(2);
    const score = index === 0 ? 0 : (compared[index - 1] ?? 0);
    const longer = 50 + 100 * score * Math.sqrt((2 * sorted.length + 1) / (12 * sorted.length ** 2));
    return {
      kind,
      n: sorted.length,
      p10: at(0.1),
      median: at(0.5),
      p90: at(0.9),
      z: score.toFixed(2),
      longer: `${longer.toFixed(2)} %`,
    };
  });
  console.table(rows);
}
