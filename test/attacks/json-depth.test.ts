/** JSON that is deep, huge or ambiguous is refused at once, and never an error of ours (ASVS 1.5.3). */
import { describe, expect, test } from 'vitest';
import { call, previewAction, quote } from '../support/agent.ts';
import { scenario } from '../support/scenario.ts';
import { tokens } from '../support/service.ts';

const at = scenario();
/** What a refusal may take; where the machine is slow, five times what reading the text takes it. */
const PATIENCE_MS = 250;
const MAXIMUM_PATIENCE_MS = 1_000;
const MAXIMUM = 512 * 1024;

const targets = [
  '/api/leads',
  '/api/subscribe',
  '/api/agent/actions/contact/preview',
  '/api/agent/actions/contact/execute',
];

function send(path: string, body: string) {
  const agent = { authorization: `Bearer ${tokens.both}`, 'idempotency-key': 'depth' };
  return call(at.service, path, {
    headers: { 'content-type': 'application/json', ...agent },
    body,
  });
}

/** As much of it as a body may have. */
const fill = (before: string, piece: string, after: string) =>
  before + piece.repeat((MAXIMUM - before.length - after.length) / piece.length) + after;

/** Milliseconds that the engine needs to read `text`, or to see that it cannot be read. */
function readingTime(text: string): number {
  const startedAt = performance.now();
  try {
    JSON.parse(text);
  } catch {
    // What it says is of no interest here.
  }
  return performance.now() - startedAt;
}

const patienceWith = (text: string) =>
  Math.min(MAXIMUM_PATIENCE_MS, Math.max(PATIENCE_MS, 5 * readingTime(text)));

const nested = (open: string, close: string, depth: number) =>
  `{"email":${open.repeat(depth)}1${close.repeat(depth)}}`;

const bodies: [string, string, number?][] = [
  ['200,000 arrays in each other', nested('[', ']', 200_000)],
  ['80,000 objects in each other', nested('{"a":', '}', 80_000)],
  ['arrays that are never closed', fill('{"email":', '[', '')],
  ['objects that are never closed', fill('', '{"a":', '')],
  ['a number of half a million digits', fill('{"email":', '9', '}')],
  ['a fraction of half a million digits', fill('{"email":0.', '1', '}')],
  ['1e400', '{"email":1e400}'],
  ['an exponent of half a million digits', fill('{"email":1e', '9', '}')],
  ['-0 and a trailing point', '{"email":-0.}'],
  ['one name 50,000 times', fill('{', '"email":1,', '"email":2}')],
  [
    'names that are numbers',
    `{${Array.from({ length: 30_000 }, (_, n) => `"${n * 4096}":1`).join()}}`,
  ],
  ['40,000 names', `{${Array.from({ length: 40_000 }, (_, n) => `"n${n}":1`).join()},"x":[]}`],
  ['a text of half a million escapes', fill('{"email":"', '\\u0000', '"}')],
  ['a text that is never closed', fill('{"email":"', 'a', '')],
  ['white space to the brim', fill('', ' ', '')],
  ['one byte too many', `${fill('{"email":"', 'a', '"}')}${' '.repeat(8)}`, 413],
  ['NaN', '{"email":NaN}'],
  ['Infinity', '{"email":-Infinity}'],
  ['a comment', '{"email":"a@b.co"/**/}'],
  ['a trailing comma', '{"email":"a@b.co",}'],
  ['two values', '{"email":"a@b.co"}{"email":"c@d.co"}'],
  ['a bare name', '{email:"a@b.co"}'],
  ['single quotes', "{'email':'a@b.co'}"],
];

describe('deep or huge JSON', () => {
  test.each(bodies)('%s: refused at once on every route', async (_name, body, status = 400) => {
    const patience = patienceWith(body);
    for (const path of targets) {
      const times: number[] = [];
      while (times.length < 3 && !times.some((took) => took < patience)) {
        const startedAt = performance.now();
        const answer = await at.expecting({}, () => send(path, body));
        times.push(performance.now() - startedAt);
        expect([path, answer.status]).toEqual([path, status]);
        expect(answer.text.length).toBeLessThan(1_000);
      }
      expect(Math.min(...times)).toBeLessThan(patience);
    }
  });

  test('of a repeated name the last counts, on the agent routes and in forms alike', async () => {
    const raw = `{"email":"evil@example.com",${JSON.stringify(quote).slice(1)}`;
    const previewed = await previewAction(at.service, 'homeowner_quote', null, { raw });
    expect(previewed.body.fields.email).toBe(quote.email);
    await send('/api/leads', raw.replace('{', '{"form":"contact","form":"homeowner_quote",'));
    expect(at.upstream.delivered.at(-1)?.event.data).toMatchObject({
      form: 'homeowner_quote',
      fields: quote,
    });
  });

  test('what is deep under a name that nobody knows is ignored by a preview, at once', async () => {
    const deep = `{"unknown":${'['.repeat(100_000)}${']'.repeat(100_000)},${JSON.stringify(quote).slice(1)}`;
    const startedAt = performance.now();
    const { status, body } = await previewAction(at.service, 'homeowner_quote', null, {
      raw: deep,
    });
    expect([status, body.fields]).toEqual([200, quote]);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  test('none of it was an error of the service', () => {
    expect(at.service.logs.filter((line) => JSON.parse(line).level >= 50)).toEqual([]);
  });
});
