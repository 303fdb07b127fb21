/** Functions that read messages, capabilities and answers to forms, without a request (reference §8.6, §8.8, §8.12). */
import { describe, expect, test } from 'vitest';
import { exampleReceipt } from '../../src/actions/examples.ts';
import { CONFIRMATION_STATEMENT } from '../../src/actions/preview.ts';
import { answerOfExecution, keyOfTool } from '../../src/mcp/answers.ts';
import { declaresApps, isSessionWithApps, sessionFor } from '../../src/mcp/apps.ts';
import { argumentReader, withoutNullParams } from '../../src/mcp/arguments.ts';
import { forCard } from '../../src/mcp/card.ts';
import { answerIn, isSealed, sealQuestion } from '../../src/mcp/elicitation.ts';
import { signFor } from '../../src/settings/signing-keys.ts';

describe('withoutNullParams', () => {
  test('leaves out params, or arguments in them, that are null', () => {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call' };
    expect(withoutNullParams({ ...message, params: null })).toStrictEqual(message);
    expect(withoutNullParams({ ...message, params: undefined })).toStrictEqual(message);
    expect(withoutNullParams(message)).toStrictEqual(message);
    expect(withoutNullParams({ ...message, params: { name: 'x', arguments: null } })).toStrictEqual({
      ...message,
      params: { name: 'x' },
    });
  });

  test.each([{ arguments: {} }, { arguments: undefined }, {}, [], 'x', 0])(
    'leaves the params %j as they are',
    (params) => {
      expect(withoutNullParams({ id: 1, params })).toStrictEqual({ id: 1, params });
    },
  );
});

describe('argumentReader', () => {
  const read = argumentReader({ properties: { text: { type: 'string' }, flag: { type: 'boolean' }, free: {} } });

  test.each([
    [0, '0'],
    [-2.5, '-2.5'],
    [94_110, '94110'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
    [-Number.MAX_SAFE_INTEGER, '-9007199254740991'],
    [Number.MAX_SAFE_INTEGER + 1, Number.MAX_SAFE_INTEGER + 1],
    [-Number.MAX_SAFE_INTEGER - 1, -Number.MAX_SAFE_INTEGER - 1],
    [1e-7, 1e-7],
    [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
    [true, true],
    ['text', 'text'],
  ])('reads %j as %j where the schema requires text', (value, text) => {
    expect(read({ text: value })).toEqual({ text });
  });

  test('leaves out null, and leaves other values as they are', () => {
    const values = { flag: 1, free: 2, further: 3, list: [null], text: '' };
    expect(read({ ...values, none: null, flag2: null })).toStrictEqual(values);
  });
});

describe('declaration of MCP Apps', () => {
  const APPS = 'io.modelcontextprotocol/ui';
  const TYPE = 'text/html;profile=mcp-app';
  const declared = { extensions: { [APPS]: { mimeTypes: ['text/html', TYPE] } } };
  const id = '00000000-0000-7000-8000-00000000000a';
  const session = (message: Record<string, unknown>) => sessionFor(message, () => id);

  test('is the extension for the type of the card, or for any type', () => {
    expect(declaresApps(declared)).toBe(true);
    expect(declaresApps({ extensions: { [APPS]: {} } })).toBe(true);
  });

  test.each([
    undefined,
    null,
    [],
    {},
    { extensions: null },
    { extensions: [] },
    { extensions: { other: {} } },
    { extensions: { [APPS]: null } },
    { extensions: { [APPS]: true } },
    { extensions: { [APPS]: { mimeTypes: [] } } },
    { extensions: { [APPS]: { mimeTypes: ['text/html'] } } },
    { extensions: { [APPS]: { mimeTypes: TYPE } } },
    { extensions: { [APPS]: { mimeTypes: null } } },
  ])('is missing in %j', (capabilities) => {
    expect(declaresApps(capabilities)).toBe(false);
  });

  test('is repeated by a session id, which only the answer to initialize has', () => {
    expect(session({ method: 'initialize', params: { capabilities: declared } })).toBe(`apps-${id}`);
    for (const message of [
      { method: 'tools/list', params: { capabilities: declared } },
      { method: 'initialize', params: { capabilities: {} } },
      { method: 'initialize', params: null },
      { method: 'initialize' },
    ]) {
      expect(session(message)).toBeUndefined();
    }
  });

  test('is read only from a session id that the service made', () => {
    expect(isSessionWithApps(`apps-${id}`)).toBe(true);
    for (const other of [
      undefined,
      '',
      id,
      `apps-${id}0`,
      `xapps-${id}`,
      `apps-${id.slice(1)}`,
      `apps-g${id.slice(1)}`,
    ]) {
      expect(isSessionWithApps(other)).toBe(false);
    }
  });
});

describe('answer to a form', () => {
  const answer = (action: unknown, content?: unknown) => answerIn({ confirmation: { action, content } });
  const says = (text: unknown) => ({ confirmation_text: text });

  test('is sent only if the person accepted the statement', () => {
    expect(answer('accept', says(CONFIRMATION_STATEMENT))).toBe('sent');
  });

  test('is declined if the person declined, or chose not to send', () => {
    expect(answer('decline')).toBe('declined');
    expect(answer('decline', says(CONFIRMATION_STATEMENT))).toBe('declined');
    expect(answer('accept', says('Do not send'))).toBe('declined');
  });

  test.each([
    [answer('accept')],
    [answer('accept', {})],
    [answer('accept', says('yes'))],
    [answer('accept', says([CONFIRMATION_STATEMENT]))],
    [answer('accept', [CONFIRMATION_STATEMENT])],
    [answer('cancel', says(CONFIRMATION_STATEMENT))],
    [answer('cancel', says('Do not send'))],
    [answer(undefined, says(CONFIRMATION_STATEMENT))],
    [answerIn({ confirmation: null })],
    [answerIn({ confirmation: 'accept' })],
    [answerIn({ confirmation: Object.create({ action: 'decline' }) })],
  ])('is unanswered for anything else', (answered) => {
    expect(answered).toBe('unanswered');
  });

  test.each([undefined, null, 'accept', [], {}, { other: { action: 'accept' } }])('is missing in %j', (responses) => {
    expect(answerIn(responses)).toBeUndefined();
  });
});

describe('state of a form', () => {
  const [keys, others] = ['a', 'b'].map((letter) => [Buffer.alloc(32, letter)]);
  const call = ['token', true, 'text'];
  const state = sealQuestion(keys ?? [], 'acme', call);

  test('is valid for the same client and call, also after a change of the key', () => {
    expect(isSealed(keys ?? [], state, 'acme', call)).toBe(true);
    expect(isSealed([...(others ?? []), ...(keys ?? [])], state, 'acme', call)).toBe(true);
  });

  test('is invalid for another key, client, call or purpose, and if it was changed', () => {
    expect(isSealed(others ?? [], state, 'acme', call)).toBe(false);
    expect(isSealed(keys ?? [], state, 'other', call)).toBe(false);
    expect(isSealed(keys ?? [], state, 'acme', ['token', null, 'text'])).toBe(false);
    expect(isSealed(keys ?? [], `${state}x`, 'acme', call)).toBe(false);
    expect(isSealed(keys ?? [], '', 'acme', call)).toBe(false);
    const elsewhere = signFor('', keys ?? [], JSON.stringify(['acme', 'submit', ...call]));
    expect(isSealed(keys ?? [], elsewhere, 'acme', call)).toBe(false);
  });
});

describe('answers of tools', () => {
  const receipt = exampleReceipt('submitted');
  const sentence = expect.stringMatching(/^It was sent\. Tell the user, .*get_receipt shows this receipt again\.$/);

  test('have the idempotency key of the preview', () => {
    expect(keyOfTool('token')).toMatch(/^mcp:[\da-f]{64}$/);
    expect(keyOfTool('token')).not.toBe(keyOfTool('other'));
  });

  test('have the receipt of an execution, and mark a replay', () => {
    const body = { ok: true, receipt };
    const submitted = { kind: 'submitted' as const, receipt };
    expect(answerOfExecution({ ...submitted, replay: false })).toEqual({ kind: 'done', sentence, body });
    expect(answerOfExecution({ ...submitted, replay: true })).toEqual({
      kind: 'done',
      sentence,
      body: { ...body, replay: true },
    });
    const refusal = { kind: 'expiredPreview' as const };
    expect(answerOfExecution(refusal)).toEqual({ kind: 'refused', refusal });
  });

  test.each([
    ['confirmationDeclined', 'declined'],
    ['confirmationPending', 'pending'],
    ['humanConfirmationRequired', 'page'],
    ['appsNotDeclared', 'page'],
    ['expiredPreview', 'expired'],
    ['invalidPreview', 'expired'],
    ['previewAlreadyUsed', 'used'],
    ['upstreamRejected', 'rejected'],
    ['upstreamRateLimited', 'rejected'],
    ['upstreamUnconfirmed', 'failed'],
    ['clientReported', 'reported'],
    ['storeUnavailable', 'retry'],
    ['rateLimited', 'retry'],
  ] as const)('have for the card and the refusal %s the outcome %s', (kind, outcome) => {
    const refusal = { kind } as never;
    expect(forCard({ kind: 'refused', refusal })).toEqual({
      kind: 'refused',
      refusal,
      meta: { 'lead-intake/outcome': outcome },
    });
  });

  test('have for the card the short reference of a receipt, except for a subscription', () => {
    const done = (body: Record<string, unknown>) => ({ kind: 'done' as const, sentence: 'Sent.', body });
    const lead = done({ receipt });
    const meta = { 'lead-intake/reference': expect.stringMatching(/^[\dA-Z]{4}-[\dA-Z]{4}$/) };
    expect(forCard(lead)).toEqual({ ...lead, meta });
    for (const answer of [done({}), done({ receipt: { ...receipt, action: 'newsletter' } })]) {
      expect(forCard(answer)).toStrictEqual(answer);
    }
    const asks = { kind: 'wrongState' as const };
    expect(forCard(asks)).toBe(asks);
  });
});
