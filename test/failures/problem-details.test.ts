/** Every kind of refusal as problem details and as the usual body, over HTTP (reference §18.5). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exampleReceipt } from '../../src/actions/examples.ts';
import { type Problem, problems } from '../../src/failures/catalogue.ts';
import { codeOf } from '../../src/failures/codes.ts';
import type { Refusal } from '../../src/failures/refusals.ts';
import { type Field, forms } from '../../src/forms/catalog.ts';
import { type Answer, call } from '../support/agent.ts';
import { type Service, startService, tokens } from '../support/service.ts';

const PROBLEM = 'application/problem+json';
const kinds = Object.keys(problems) as Refusal['kind'][];

let service: Service;
let refusal: Refusal;
beforeAll(async () => {
  service = await startService();
  // The route answers with whatever refusal this function returns.
  service.parts.receipts.find = (async () => refusal) as unknown as typeof service.parts.receipts.find;
});
afterAll(() => service.close());

const email = forms.newsletter.fields[0] as Field;
const name = forms.contact.fields[0] as Field;
const failed = { receipt: exampleReceipt('failed') };

/** Data of the kinds that have data. */
const data: Partial<Record<Refusal['kind'], object>> = {
  unauthenticated: { credentialSent: true },
  insufficientScope: { scope: 'lead:create' },
  invalidFields: { faults: [{ field: email, kind: 'email' }] },
  invalidForm: { faults: [{ field: email, kind: 'missing' }], missing: [email.name, name.name] },
  missingConsent: { missing: ['privacy'] },
  valueTooLong: { missing: [] },
  kept: { reference: '0191ab6e-7c10-7d2a-9b1e-0c5d8e2f4a61' },
  upstreamRejected: { status: 422, ...failed },
  upstreamRateLimited: { retryAfterSeconds: 30, ...failed },
  upstreamUnconfirmed: { ...failed, replay: true },
};

/** Kinds whose sentence contains the seconds of `Retry-After`, which the catalogue does not know. */
const waits = kinds.filter((kind) => /\{wait\}/.test(problems[kind].detail) && !('waitSeconds' in problems[kind]));

function refusalOf(kind: Refusal['kind']): Refusal {
  const isFixed = kind === 'inProgress';
  return { kind, ...(waits.includes(kind) && !isFixed && { retryAfterSeconds: 7 }), ...data[kind] } as Refusal;
}

const read = (accept?: string): Promise<Answer> =>
  call(service, '/api/agent/receipts/x', {
    method: 'GET',
    headers: { authorization: `Bearer ${tokens.both}`, ...(accept !== undefined && { accept }) },
  });

const OWN = new Set(['content-type', 'content-length', 'x-request-id', 'date', 'ratelimit', 'keep-alive']);
const shared = ({ headers }: Answer) => [...headers].filter(([header]) => !OWN.has(header));

// The route of receipts answers `inProgress` as `unknownReceipt`. The rows of `problem-routes.test.ts` have it.
describe.each(kinds.filter((kind) => kind !== 'inProgress'))('%s', (kind) => {
  test('as problem details has its code, title and sentence, and what the usual body has beside `error`', async () => {
    refusal = refusalOf(kind);
    const usual = await read('application/json');
    const { status, headers, body, ...rest } = await read(PROBLEM);
    const { errorCode, sentence }: Problem = problems[kind];
    const { error, ...further } = usual.body;
    expect(status).toBe(usual.status);
    expect(headers.get('content-type')).toMatch(/^application\/problem\+json(;|$)/);
    expect(body).toEqual({
      type: `${service.url}/reference#problem-${codeOf(kind)}`,
      title: expect.stringMatching(/^[^{}]+[^.{}]$/),
      status,
      detail: errorCode === undefined ? error : expect.stringContaining(sentence),
      code: codeOf(kind),
      request_id: headers.get('x-request-id'),
      ...further,
    });
    expect(sentence).toContain(body.title);
    expect(body.detail).not.toContain('{wait}');
    expect(shared({ status, headers, body, ...rest })).toEqual(shared(usual));
  });

  test('without that Accept has the usual body, with `error` first and no member of problem details', async () => {
    refusal = refusalOf(kind);
    for (const accept of [undefined, '*/*', 'application/*', 'application/json', `${PROBLEM};q=0`]) {
      const { headers, body, text } = await read(accept);
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(text).toMatch(/^\{"error":"/);
      expect(Object.keys(body).filter((member) => MEMBERS.has(member))).toEqual([]);
      expect(headers.get('vary')).toBe('Accept');
    }
  });
});

const MEMBERS = new Set(['type', 'title', 'status', 'detail', 'code', 'request_id']);

test('every member of problem details is in the schema of the OpenAPI document, and each required one is sent', async () => {
  const { body: openapi } = await call(service, '/openapi.json', { method: 'GET' });
  const { properties, required } = openapi.components.schemas.ProblemDetails;
  const sent = [];
  for (const kind of kinds) {
    refusal = refusalOf(kind);
    sent.push(Object.keys((await read(PROBLEM)).body));
  }
  expect(new Set(sent.flat())).toEqual(new Set(Object.keys(properties).filter((member) => member !== 'retry_after')));
  for (const members of sent) expect(members.slice(0, required.length)).toEqual(required);
});

test('the title of a code is the same, whatever the refusal’s data are', async () => {
  const titles = [];
  for (const faults of [[], [{ field: email, kind: 'email' }], [{ field: name, kind: 'missing' }]]) {
    refusal = { kind: 'invalidFields', faults } as Refusal;
    titles.push((await read(PROBLEM)).body.title);
  }
  expect(new Set(titles)).toEqual(new Set(['Some fields are not valid']));
});

test('no two codes have the same title among the refusals of one route', async () => {
  const titles = new Map<string, string>();
  for (const kind of ['confirmationPending', 'humanConfirmationRequired'] as const) {
    refusal = refusalOf(kind);
    const { body } = await read(PROBLEM);
    titles.set(body.code, body.title);
    // Both kinds have the same value of `error` (reference §18.3).
    expect((await read()).body.error).toBe('human_confirmation_required');
  }
  expect([...titles.keys()]).toEqual(['confirmation_pending', 'human_confirmation_required']);
  expect(new Set(titles.values()).size).toBe(2);
});
