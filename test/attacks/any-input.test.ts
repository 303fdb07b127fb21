import { Agent, request } from 'node:http';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { forms, leastFields } from '../../src/forms/catalog.ts';
import { previewId, quote } from '../support/agent.ts';
import { codePoint } from '../support/code-point.ts';
import { encode, encodings, formNames } from '../support/forms.ts';
import { countEffects } from '../support/outcomes.ts';
import { errorsIn, freshAddress, type Service, startService, tokens } from '../support/service.ts';
import { openWire } from '../support/wire.ts';

/** Time limit of each property, for any number of runs. */
const TIME_LIMIT_MS = 3_000;
const limits = { numRuns: 3_000, interruptAfterTimeLimit: TIME_LIMIT_MS } as const;

let service: Service;
let preview: string;
const agent = new Agent({ keepAlive: true });
beforeAll(async () => {
  service = await startService();
  preview = await previewId(service);
});
afterAll(async () => {
  agent.destroy();
  await service.close();
});

type Sent = {
  method: string;
  path: string;
  headers: Record<string, string | string[]>;
  body: Uint8Array | string;
};
type Got = { status: number; headers: Record<string, unknown>; body: string };

function send({ method, path, headers, body }: Sent): Promise<Got> {
  return new Promise((resolve, reject) => {
    const forwardedFor = `${headers['x-forwarded-for'] ?? ''}, ${freshAddress()}`;
    const all = { ...headers, 'x-forwarded-for': forwardedFor };
    const sending = request(`${service.url}/`, { agent, method, path, headers: all }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const { statusCode: status = 0, headers: said } = response;
        resolve({ status, headers: said, body: Buffer.concat(chunks).toString() });
      });
    });
    sending.on('error', reject);
    sending.end(body);
  });
}

const isSuccess = (status: number) => status === 200 || status === 303;

/** Expects no 5xx, an id on every answer, and nothing stored or sent unless the answer is a success. */
async function expectHarmless(sent: Sent): Promise<Got> {
  const before = await countEffects(service);
  const got = await send(sent);
  expect(got.status).toBeLessThan(500);
  expect(got.headers['x-request-id']).toEqual(expect.any(String));
  if (!isSuccess(got.status)) expect(await countEffects(service)).toEqual(before);
  if (got.status >= 400 && `${got.headers['content-type']}`.includes('json') && got.body !== '') {
    expect(JSON.parse(got.body).error).toEqual(expect.any(String));
  }
  return got;
}

const steps = ['preview', 'execute'];
const actionPaths = formNames.flatMap((form) => steps.map((step) => `/api/agent/actions/${form}/${step}`));
const postPaths = ['/api/leads', '/api/subscribe', ...actionPaths];
const getPaths = [
  '/',
  '/quote',
  '/quote.md',
  '/llms.txt',
  '/openapi.json',
  '/healthz',
  '/api/agent/content',
  '/api/agent/manifest',
];

const anyText = fc.oneof(
  fc.string({ unit: codePoint, maxLength: 60 }),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.constantFrom('', 'ada@example.com', 'on', '94110', '__proto__', 'a'.repeat(2_001), ...formNames),
);
const anyName = fc.oneof(
  fc.constantFrom(...Object.values(forms).flatMap(({ fields }) => fields.map(({ name }) => name))),
  fc.constantFrom('form', 'privacy', 'contractor', 'bot-field', '__proto__', 'constructor', ''),
  fc.string({ unit: codePoint, maxLength: 120 }),
);
const anyFields = fc.dictionary(anyName, anyText, { maxKeys: 24 });
/** Often valid, so that the code after the validation is reached, too. */
const nearlyValid = fc.tuple(anyFields, fc.constantFrom(...formNames), fc.boolean()).map(([fields, form, wins]) => {
  const valid = { ...leastFields(forms[form]), form, privacy: 'on' };
  return wins ? { ...fields, ...valid } : { ...valid, ...fields };
});
const anyForm = fc.oneof(anyFields, nearlyValid);

const mutate = (bytes: Buffer, changes: readonly (readonly [number, number, 0 | 1 | 2])[]) => {
  const mutated = [...bytes];
  for (const [at, byte, how] of changes) {
    const index = at % (mutated.length + 1);
    if (how === 0) mutated[index] = byte;
    else if (how === 1) mutated.splice(index, 0, byte);
    else mutated.splice(index, byte % 8);
  }
  return Buffer.from(mutated);
};
const anyChanges = fc.array(fc.tuple(fc.nat(5_000), fc.integer({ min: 0, max: 255 }), fc.constantFrom(0, 1, 2)), {
  maxLength: 4,
});

const boundary = '----boundary-of-the-tests';
const types = {
  json: 'application/json',
  urlencoded: 'application/x-www-form-urlencoded',
  multipart: `multipart/form-data; boundary=${boundary}`,
};
const anyType = fc.oneof(
  fc.constantFrom(
    ...Object.values(types),
    'multipart/form-data',
    'multipart/form-data; boundary=""',
    'application/json; charset=utf-16',
    'application/json;;;',
    'text/plain',
    '',
  ),
  fc.string({ maxLength: 40 }),
);

/** A body with its content type. */
const anyBody = fc.oneof(
  fc.tuple(fc.uint8Array({ maxLength: 300 }), anyType),
  fc.tuple(fc.oneof(fc.json(), fc.string({ unit: codePoint })), fc.constant(types.json)),
  fc.tuple(anyForm, fc.constantFrom(...encodings), anyChanges).map(([fields, encoding, changes]) => {
    const body = Buffer.from(encode(encoding, onlyWellFormed(fields)));
    return [mutate(body, changes), types[encoding]] as const;
  }),
  fc
    .record({
      preview_id: fc.oneof(anyText, fc.constantFrom('preview'), fc.jsonValue()),
      confirmation: fc.oneof(fc.constant(true), fc.jsonValue()),
      confirmation_text: fc.oneof(
        fc.constant('I confirm that Service may use these details for the selected action.'),
        anyText,
      ),
    })
    .map((body) => {
      const text = JSON.stringify(body).replace('"preview"', JSON.stringify(preview));
      return [text, types.json] as const;
    }),
);

/** Printable Latin-1, which is all that an HTTP client can put into a header. */
const headerText = fc
  .string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((n) => String.fromCharCode(n)) })
  .map((text) => text.replaceAll('\x7f', '').replace(/[\x80-\x9f]/g, ''));
const anyHeaders = fc.dictionary(
  fc.oneof(
    fc.constantFrom('idempotency-key', 'authorization', 'x-forwarded-for', 'traceparent'),
    fc.constantFrom('accept', 'accept-encoding', 'accept-version', 'if-none-match', 'range'),
    fc.constantFrom('origin', 'access-control-request-method', 'content-encoding', 'cookie'),
    fc.stringMatching(/^x-[a-z]{1,10}$/),
  ),
  fc.oneof(headerText, fc.array(headerText, { maxLength: 3 })),
  { maxKeys: 4 },
);
const keys = fc.nat(1_000_000).map((n) => `key-${n}`);

test('every route with a body answers below 500 to any body, content type and headers', async () => {
  const statuses = new Set<number>();
  // A run that never passes the first check would prove nothing.
  const wanted = [200, 303, 400, 409];
  const withType = fc.oneof(
    { weight: 4, arbitrary: anyBody },
    fc.tuple(anyBody, anyType).map(([[body], type]) => [body, type] as const),
  );
  const sending = fc.tuple(fc.constantFrom(...postPaths), withType, anyHeaders, keys);
  const harmless = fc.asyncProperty(sending, async ([path, [body, type], headers, key]) => {
    const authorization = `Bearer ${tokens.both}`;
    const all = { 'content-type': type, 'idempotency-key': key, authorization, ...headers };
    const { status } = await expectHarmless({ method: 'POST', path, headers: all, body });
    statuses.add(status);
  });
  // A busy machine may make too few runs for a success. It then gets more time.
  const seed = fc.readConfigureGlobal().seed ?? Date.now();
  for (let more = 0; more < 10 && !wanted.every((status) => statuses.has(status)); more += 1) {
    await fc.assert(harmless, { ...limits, seed: seed + more });
  }
  expect([...statuses]).toEqual(expect.arrayContaining(wanted));
}, 60_000);

test('the service answers below 500 to any method, path, query and headers', async () => {
  const methods = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND'];
  const segment = fc.oneof(
    fc.stringMatching(/^[!-~]{0,20}$/),
    fc.constantFrom('..', '.', '%2e%2e', '%2f', '%00', '%zz', '%', '%ff', '__proto__', ''),
    fc.constantFrom('api', 'agent', 'actions', 'leads', 'contact', 'preview', 'content', 'assets'),
  );
  const anyPath = fc.oneof(
    fc.constantFrom(...postPaths, ...getPaths),
    fc.array(segment, { maxLength: 6 }).map((segments) => `/${segments.join('/')}`),
  );
  const anyQuery = fc.oneof(
    fc.constant(''),
    fc.stringMatching(/^[!-~]{0,40}$/).map((text) => `?${text}`),
    fc.stringMatching(/^[!-~]{0,40}$/).map((text) => `?resource=${text}`),
    anyText.map((text) => `?resource=${encodeURIComponent(text.toWellFormed())}`),
  );
  const sending = fc.tuple(fc.constantFrom(...methods), anyPath, anyQuery, anyHeaders);
  await fc.assert(
    fc.asyncProperty(sending, async ([method, path, query, headers]) => {
      await expectHarmless({ method, path: path + query, headers, body: '' });
    }),
    limits,
  );
});

/** Waits until the service has stored what a connection sent before this test left it, so that no later case counts it. */
async function settled(): Promise<void> {
  await send({ method: 'GET', path: '/healthz', headers: {}, body: '' });
  await service.parts.storage.write(async () => {});
}

test('the service answers below 500 to any bytes, and to valid requests with some bytes changed', async () => {
  const whole = (path: string, type: string, body: string | Buffer) =>
    Buffer.concat([
      Buffer.from(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nConnection: close\r\n` +
          `Authorization: Bearer ${tokens.preview}\r\nContent-Length: ${body.length}\r\n\r\n`,
      ),
      Buffer.from(body),
    ]);
  const lead = { form: 'homeowner_quote', ...quote };
  const requests = [
    whole('/api/leads', 'application/json', encode('json', lead)),
    whole('/api/leads', `multipart/form-data; boundary=${boundary}`, encode('multipart', lead)),
    whole('/api/agent/actions/homeowner_quote/preview', 'text/plain', JSON.stringify(quote)),
    Buffer.from('GET /quote?a=b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'),
  ];
  const mutated = fc.tuple(fc.constantFrom(...requests), anyChanges).map(([bytes, changes]) => mutate(bytes, changes));
  const anyBytes = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
  await fc.assert(
    fc.asyncProperty(fc.oneof({ weight: 4, arbitrary: mutated }, anyBytes), async (bytes) => {
      const before = await countEffects(service);
      const wire = await openWire(service.url);
      wire.write(bytes);
      // The service waits for the end of a truncated request, but this test does not.
      let isLeft = false;
      const timer = setTimeout(() => {
        isLeft = true;
        wire.socket.destroy();
      }, 30);
      const replies = await wire.closed();
      clearTimeout(timer);
      if (isLeft) await settled();
      for (const { status } of replies) expect(status).toBeLessThan(500);
      if (replies.length > 0 && !replies.some(({ status }) => isSuccess(status))) {
        expect(await countEffects(service)).toEqual(before);
      }
    }),
    limits,
  );
});

test('the service logs no request with arbitrary input as an error', () => {
  expect(errorsIn(service.logs)).toEqual([]);
});

/** Replaces lone surrogates, which `URLSearchParams` does not accept. */
function onlyWellFormed(fields: Record<string, string>) {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name.toWellFormed(), value.toWellFormed()]));
}
