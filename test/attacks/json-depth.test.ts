/** JSON that is deep, huge or ambiguous is refused at once, without an internal error (ASVS 1.5.3, reference §3.2). */
import { describe, expect, test } from 'vitest';
import { problems } from '../../src/failures/catalogue.ts';
import { call, previewAction, quote } from '../support/agent.ts';
import { send as sendMessage } from '../support/mcp.ts';
import { scenario } from '../support/scenario.ts';
import { errorsIn, tokens } from '../support/service.ts';

const at = scenario();
/** Time limit for a refusal, in milliseconds. */
const PATIENCE_MS = 250;
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

/** Returns a body of the maximum size. */
const fill = (before: string, piece: string, after: string) =>
  before + piece.repeat((MAXIMUM - before.length - after.length) / piece.length) + after;

const nested = (open: string, close: string, depth: number) => `{"email":${open.repeat(depth)}1${close.repeat(depth)}}`;

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
  ['names that are numbers', `{${Array.from({ length: 30_000 }, (_, n) => `"${n * 4096}":1`).join()}}`],
  ['40,000 names', `{${Array.from({ length: 40_000 }, (_, n) => `"n${n}":1`).join()},"x":[]}`],
  ['a text of half a million escapes', fill('{"email":"', '\\u0000', '"}')],
  ['a text that is never closed', fill('{"email":"', 'a', '')],
  ['a body of white space of the maximum size', fill('', ' ', '')],
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
  test.each(bodies)('refuses %s within 250 ms on every route', async (_name, body, status = 400) => {
    for (const path of targets) {
      const times: number[] = [];
      while (times.length < 10 && !times.some((took) => took < PATIENCE_MS)) {
        const startedAt = performance.now();
        const answer = await at.expecting({}, () => send(path, body));
        times.push(performance.now() - startedAt);
        expect([path, answer.status]).toEqual([path, status]);
        expect(answer.text.length).toBeLessThan(1_000);
      }
      expect(Math.min(...times)).toBeLessThan(PATIENCE_MS);
    }
  });

  test('uses the last value of a repeated name, on agent routes and in forms', async () => {
    const raw = `{"email":"evil@example.com",${JSON.stringify(quote).slice(1)}`;
    const previewed = await previewAction(at.service, 'homeowner_quote', null, { raw });
    expect(previewed.body.fields.email).toBe(quote.email);
    await send('/api/leads', raw.replace('{', '{"form":"contact","form":"homeowner_quote",'));
    expect(at.upstream.delivered.at(-1)?.event.data).toMatchObject({
      form: 'homeowner_quote',
      fields: quote,
    });
  });
});

/** An object or array is one level, and so is each one in it. */
const DEEPEST = 64;

/** JSON of so many levels inside a message, by shape. Engines handle each of these shapes differently. */
const shapes: Record<string, (levels: number) => string> = {
  objects: (levels) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`,
  arrays: (levels) => `${'['.repeat(levels)}${']'.repeat(levels)}`,
  'numbered members': (levels) => `${'{"0":'.repeat(levels)}1${'}'.repeat(levels)}`,
  'toJSON members': (levels) => `${'{"toJSON":'.repeat(levels)}1${'}'.repeat(levels)}`,
  'objects in arrays': (levels) =>
    `${'[{"a":'.repeat(levels >> 1)}${levels % 2 ? '[]' : '1'}${'}]'.repeat(levels >> 1)}`,
  'a member that a later one replaces': (levels) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)},"a":1}`,
};

describe('JSON nested 64 deep', () => {
  const routes: [string, string][] = [
    ['/api/leads', '{"form":"contact","x":DEEP}'],
    ['/api/subscribe', '{"email":"ada@example.com","x":DEEP}'],
    ['/api/agent/actions/homeowner_quote/preview', `{"x":DEEP,${JSON.stringify(quote).slice(1)}`],
    ['/api/agent/actions/contact/execute', '{"preview_id":"x","x":DEEP}'],
    ['/api/agent/confirmations', '{"preview_id":"x","x":DEEP}'],
    ['/mcp', '{"jsonrpc":"2.0","id":1,"method":"ping","x":DEEP}'],
    ['/mcp/open', '{"jsonrpc":"2.0","id":1,"method":"ping","x":DEEP}'],
  ];

  test.each(routes)('is parsed at %s, and returns 400 with one more level', async (path, body) => {
    for (const shape of Object.values(shapes)) {
      // The body itself is the first level.
      const passed = await send(path, body.replace('DEEP', shape(DEEPEST - 1)));
      expect(passed.body?.error).not.toBe(problems.jsonTooDeep.error);
      const refused = await send(path, body.replace('DEEP', shape(DEEPEST)));
      expect([refused.status, refused.body]).toEqual([400, { error: problems.jsonTooDeep.error }]);
    }
  });

  test('brackets inside a text do not count as levels', async () => {
    const message = `${'[{'.repeat(100)} \\" ${'[{'.repeat(100)} \\`;
    const { status, body } = await previewAction(at.service, 'homeowner_quote', {
      ...quote,
      message,
    });
    expect([status, body.fields.message]).toEqual([200, message]);
  });
});

describe('POST /mcp with a deep value', () => {
  const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
  const REVISION = 'io.modelcontextprotocol/protocolVersion';
  const places: Record<string, (deep: string, tool: string, revision: string) => string> = {
    _meta: (deep, tool, revision) => meta(`"x":${deep}`, '{}', tool, revision),
    arguments: (deep, tool, revision) => meta('"x":1', `{"message":${deep}}`, tool, revision),
    confirmation_text: (deep, tool, revision) =>
      meta('"x":1', `{"preview_id":"x","confirmation_text":${deep}}`, tool, revision),
    'clientCapabilities.elicitation': (deep, tool, revision) =>
      meta(`"${CAPABILITIES}":{"elicitation":${deep}}`, '{}', tool, revision),
  };
  const meta = (more: string, input: string, tool: string, revision: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}","arguments":${input},"_meta":{"${REVISION}":"${revision}","${CAPABILITIES}":{},${more}}}}`;

  test.each(Object.keys(places).flatMap((place) => Object.keys(shapes).map((shape) => [place, shape])))(
    'returns 400 for a deep value in %s, made of %s, in every revision',
    async (place, shape) => {
      const messageWith = places[place] ?? expect.fail();
      const deep = shapes[shape] ?? expect.fail();
      await at.expecting({}, async () => {
        for (const revision of ['2026-07-28', '2025-11-25', '2024-11-05']) {
          for (const tool of ['preview_contact', 'submit']) {
            for (const levels of [DEEPEST + 1, 30_000]) {
              const raw = messageWith(deep(levels), tool, revision);
              const headers = { 'mcp-protocol-version': revision, 'mcp-name': tool };
              const answer = await sendMessage(at.service, 'tools/call', {}, { raw, headers });
              expect([answer.status, Object.keys(answer.body)]).toEqual([400, ['error']]);
            }
          }
        }
      });
    },
  );

  test('returns 400 for a message that is a deep array', async () => {
    const raw = `${'['.repeat(DEEPEST + 1)}${']'.repeat(DEEPEST + 1)}`;
    const answer = await sendMessage(at.service, 'tools/call', {}, { raw });
    expect([answer.status, answer.body]).toEqual([400, { error: problems.jsonTooDeep.error }]);
  });
});

test('logs none of the refused bodies as an error', () => {
  expect(errorsIn(at.service.logs)).toEqual([]);
});
