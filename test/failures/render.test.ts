/** Texts, statuses, headers and bodies of refusals, without a request (reference §18). */
import { describe, expect, test } from 'vitest';
import { exampleReceipt } from '../../src/actions/examples.ts';
import { problems } from '../../src/failures/catalogue.ts';
import { anchorOf, codeOf, describedAt } from '../../src/failures/codes.ts';
import { on, pageWords } from '../../src/failures/problem.ts';
import type { Refusal } from '../../src/failures/refusals.ts';
import {
  PROBLEM_TYPE,
  problemDetails,
  renderForPage,
  renderForTool,
  renderProblem,
} from '../../src/failures/render.ts';
import { type Field, forms } from '../../src/forms/catalog.ts';

const receipt = exampleReceipt('failed');
const [email] = forms.newsletter.fields as readonly [Field];
const [name] = forms.contact.fields as readonly [Field];

describe('renderProblem', () => {
  test.each<[Refusal, Record<string, string>]>([
    [{ kind: 'unauthenticated', credentialSent: false }, { 'www-authenticate': 'Bearer realm="agent actions"' }],
    [
      { kind: 'unauthenticated', credentialSent: true },
      { 'www-authenticate': 'Bearer realm="agent actions", error="invalid_token"' },
    ],
    [
      { kind: 'insufficientScope', scope: 'lead:create' },
      { 'www-authenticate': 'Bearer realm="agent actions", error="insufficient_scope", scope="lead:create"' },
    ],
    [{ kind: 'unknownAction' }, {}],
    [{ kind: 'rateLimited', retryAfterSeconds: 30 }, { 'retry-after': '30' }],
    [{ kind: 'inProgress' }, { 'retry-after': '1' }],
    [{ kind: 'subscriptionNotKept' }, { 'retry-after': '60' }],
    [{ kind: 'kept', reference: 'r-1' }, { 'submission-reference': 'r-1' }],
    [{ kind: 'left' }, {}],
    [{ kind: 'upstreamRejected', status: 422, receipt: {} }, {}],
    [
      { kind: 'upstreamUnconfirmed', receipt, replay: true },
      {
        link: `</api/agent/receipts/${receipt.action_id}>; rel="describedby"`,
        'idempotent-replayed': 'true',
      },
    ],
    [
      { kind: 'upstreamUnconfirmed', receipt, replay: false },
      { link: `</api/agent/receipts/${receipt.action_id}>; rel="describedby"` },
    ],
  ])('returns for %o the headers %o', (refusal, headers) => {
    expect(renderProblem(refusal, 'agent').headers).toStrictEqual(headers);
  });

  test.each<[Refusal, object]>([
    [{ kind: 'unknownAction' }, {}],
    [{ kind: 'inProgress' }, { retryable: true }],
    [{ kind: 'invalidForm', faults: [], missing: [] }, {}],
    [{ kind: 'invalidForm', faults: [], missing: ['email'] }, { fields: ['email'] }],
    [{ kind: 'upstreamUnconfirmed', receipt, replay: false }, { receipt }],
    [
      { kind: 'upstreamUnconfirmed', receipt, replay: true },
      { receipt, replay: true },
    ],
  ])('returns for %o a body with `error` and %o', (refusal, further) => {
    const error = problems[refusal.kind].error.replace('{wait}', '1 second');
    expect(renderProblem(refusal, 'agent').body).toEqual({ error, ...further });
  });

  test('has the seconds to wait in the body of a rate limit only for a JSON client of a form', () => {
    const limited = { kind: 'rateLimited', retryAfterSeconds: 30 } as const;
    expect(renderProblem(limited, 'json').body.retry_after).toBe(30);
    expect(renderProblem(limited, 'agent').body).not.toHaveProperty('retry_after');
    expect(renderProblem(limited, 'native').body).not.toHaveProperty('retry_after');
    expect(renderProblem({ kind: 'subscriptionNotKept' }, 'json').body).not.toHaveProperty('retry_after');
    expect(renderProblem({ kind: 'contentType' }, 'json').body).not.toHaveProperty('retry_after');
  });

  test('returns the status of the upstream, and 400 instead of 413 for a too long JSON value', () => {
    expect(renderProblem({ kind: 'upstreamRejected', status: 418, receipt }, 'agent').status).toBe(418);
    const tooLong: Refusal = { kind: 'valueTooLong', missing: [] };
    expect(['json', 'native', 'agent'].map((as) => renderProblem(tooLong, as as 'json').status)).toEqual([
      400, 413, 413,
    ]);
    expect(renderProblem({ kind: 'bodyTooLarge' }, 'json').status).toBe(413);
  });

  test('returns for a native form the next step of a person, and for others the next step of a program', () => {
    for (const kind of Object.keys(problems) as Refusal['kind'][]) {
      const { sentence, detail, next } = problems[kind] as ReturnType<ReturnType<typeof on>>;
      const refusal = { kind, retryAfterSeconds: 7 } as unknown as Refusal;
      const waited = (text: string) => text.replace('{wait}', '7 seconds');
      expect(renderProblem(refusal, 'native').detail).toBe(
        waited(next.page === undefined ? detail : `${sentence} ${next.page}`),
      );
      for (const as of ['agent', 'json'] as const) expect(renderProblem(refusal, as).detail).toBe(waited(detail));
    }
  });

  test('names each invalid field once, and each missing field that has no other sentence', () => {
    const faults = [
      { field: email, kind: 'missing' as const },
      { field: name, kind: 'missing' as const },
    ];
    const sentences = faults.map(({ field }) => `${field.name} is missing.`);
    const only = faults.slice(0, 1);
    const detailOf = (refusal: Refusal) => renderProblem(refusal, 'json').detail;
    expect(detailOf({ kind: 'invalidFields', faults })).toBe(sentences.join(' '));
    expect(detailOf({ kind: 'invalidForm', faults, missing: [email.name] })).toBe(sentences.join(' '));
    expect(detailOf({ kind: 'invalidForm', faults: only, missing: [email.name, 'privacy', 'subject'] })).toBe(
      `${sentences[0]} privacy is missing. subject is missing.`,
    );
    expect(detailOf({ kind: 'invalidForm', faults: [], missing: ['privacy'] })).toBe(problems.invalidForm.detail);
  });
});

describe('problemDetails', () => {
  test('has the media type of RFC 9457', () => {
    expect(PROBLEM_TYPE).toBe('application/problem+json');
  });

  const about = { baseUrl: 'https://paint.example', requestId: 'r-1' };

  test('has the first sentence as title, without its full stop, and the members of the usual body', () => {
    const rendered = renderProblem({ kind: 'upstreamUnconfirmed', receipt, replay: true }, 'agent');
    expect(problemDetails(rendered, about)).toEqual({
      type: `https://paint.example/reference#problem-${codeOf('upstreamUnconfirmed')}`,
      title: problems.upstreamUnconfirmed.sentence.split('.')[0],
      status: problems.upstreamUnconfirmed.status,
      detail: problems.upstreamUnconfirmed.detail,
      code: codeOf('upstreamUnconfirmed'),
      request_id: 'r-1',
      receipt,
      replay: true,
    });
  });

  test('has one sentence as title for a problem of several sentences, and keeps periods within it', () => {
    const titleOf = (kind: Refusal['kind']) =>
      problemDetails(renderProblem({ kind, missing: [] } as unknown as Refusal, 'agent'), about).title;
    expect(titleOf('kept')).toBe('We stored your submission and will deliver it');
    expect(titleOf('contentType')).toBe(problems.contentType.sentence.slice(0, -1));
  });
});

describe('renderForTool', () => {
  test.each(Object.keys(problems) as Refusal['kind'][])('returns sentence, code and next step of %s', (kind) => {
    const { sentence, errorCode, next } = problems[kind] as ReturnType<ReturnType<typeof on>>;
    const coded = errorCode === undefined ? sentence : `${sentence.slice(0, -1)} (${errorCode}).`;
    const text = renderForTool({ kind, retryAfterSeconds: 1 } as unknown as Refusal);
    expect(text).toBe([coded, next.tool ?? next.route ?? []].flat().join(' ').replace('{wait}', '1 second'));
  });

  test('ends with the action_id of a failed execution, if its receipt has one', () => {
    const refusal = { kind: 'upstreamUnconfirmed', receipt, replay: false } as const;
    const without = renderForTool({ ...refusal, receipt: {} });
    expect(renderForTool(refusal)).toBe(`${without} action_id: ${receipt.action_id}`);
    expect(without).not.toContain('action_id:');
  });

  test('returns the sentences about fields in place of the sentence of the catalogue', () => {
    const text = renderForTool({ kind: 'invalidFields', faults: [{ field: email, kind: 'missing' }] });
    expect(text).toMatch(new RegExp(`^${email.name} is missing\\.`));
    expect(text).not.toContain(problems.invalidFields.sentence);
  });
});

describe('renderForPage', () => {
  test.each(Object.keys(problems) as Refusal['kind'][])('returns status, sentence and next step of %s', (kind) => {
    const { status, sentence, next } = problems[kind] as ReturnType<ReturnType<typeof on>>;
    expect(renderForPage({ kind, retryAfterSeconds: 30 } as unknown as Refusal)).toEqual({
      status,
      sentence,
      next: (next.page ?? '').replace('{wait}', '30 seconds'),
    });
  });
});

describe('entries of the catalogue', () => {
  const entry = on(['submitLead'], '§1.1');

  test('have the next step of a route in `detail`, and in `error` unless they have a code', () => {
    const common = { status: 400, sentence: 'No.', section: '§1.1', operations: ['submitLead'] };
    expect(entry(400, 'No.')).toEqual({ ...common, next: {}, detail: 'No.', error: 'No.' });
    expect(entry(400, 'No.', { route: 'Wait.', retryable: true, waitSeconds: 3 })).toEqual({
      ...common,
      next: { route: 'Wait.' },
      detail: 'No. Wait.',
      error: 'No. Wait.',
      retryable: true,
      waitSeconds: 3,
    });
    expect(entry(400, 'No.', { route: 'Wait.', tool: 'Call.', page: 'Click.', errorCode: 'no' })).toEqual({
      ...common,
      next: { route: 'Wait.', tool: 'Call.', page: 'Click.' },
      detail: 'No. Wait.',
      error: 'no',
      errorCode: 'no',
    });
  });

  test('are pages with the sentence as title and the next step of a person as text', () => {
    expect(
      pageWords({ one: entry(400, 'No.', { tool: 'Call.' }), two: entry(400, 'Why?', { page: 'Click.' }) }),
    ).toEqual({
      one: { title: 'No.', text: '' },
      two: { title: 'Why?', text: 'Click.' },
    });
  });
});

describe('codes of problem details', () => {
  test('are the kind in snake case, or a clearer name', () => {
    expect(codeOf('bodyTooLarge')).toBe('body_too_large');
    expect(codeOf('unauthenticated')).toBe('unauthenticated');
    expect(codeOf('kept')).toBe('delivery_pending');
  });

  test('have a section of the API reference', () => {
    expect(anchorOf('not_sent')).toBe('problem-not_sent');
    expect(describedAt('not_sent')).toBe('/reference#problem-not_sent');
  });
});
