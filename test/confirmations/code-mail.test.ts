/** The message with a code: its content, and when it is not sent any more (reference §6.13). */
import { describe, expect, test } from 'vitest';
import { CODE_LIFETIME_MS, codeRenderer } from '../../src/confirmations/codes.ts';
import type { Confirmation } from '../../src/confirmations/confirmations.ts';
import { codeOf, sealSecret } from '../../src/confirmations/tokens.ts';
import type { MessageRow } from '../../src/storage/operation-schema.ts';
import { testClock } from '../support/clock.ts';

const clock = testClock();
const signingKeys = [Buffer.alloc(32, 'key')];
const ID = '0d6f2c1e-5b1a-4f37-9f0e-2a6a4f1f9c11';
const SECRET = 'A'.repeat(43);

const PENDING = {
  id: ID,
  client: 'acme',
  action: 'homeowner_quote',
  destination: 'Vetted Painters',
  email: 'ada@example.com',
  code_number: 2,
  code_expires_at: new Date(clock.now().getTime() + CODE_LIFETIME_MS).toISOString(),
  execution: { status: 'asked' },
} as Confirmation;

const words = {
  message: { subject: 'Code for {purpose}', text: '{code}|{minutes}|{client}|{destination}|{operator}|{site}|{page}' },
  purposes: { homeowner_quote: 'a quote' },
};

/** Renders the message of a code while this confirmation is stored. */
const render = (found: Confirmation | undefined, message: Partial<MessageRow> = {}) =>
  codeRenderer({
    confirmations: { find: async (id: string) => (id === ID ? found : undefined) },
    credentials: { labelOf: (name: string) => `Label of ${name}` },
    signingKeys,
    clock,
    words: () => words,
    operator: { name: 'Paint Match' },
    baseUrl: 'https://site.example',
  } as unknown as Parameters<typeof codeRenderer>[0])({
    key: `${ID}.2`,
    sealed_secret: null,
    ...message,
  } as MessageRow);

const lineWith = (page: string) =>
  `${codeOf(signingKeys, ID, 2)}|10|Label of acme|Vetted Painters|Paint Match|https://site.example|${page}`;

describe('the message with a code', () => {
  test('has the code, the names and the link to the page, and goes to the address of the confirmation', async () => {
    const sealed_secret = sealSecret(signingKeys, `${ID}.2`, SECRET);
    expect(await render(PENDING, { sealed_secret })).toEqual({
      address: 'ada@example.com',
      subject: 'Code for a quote',
      text: lineWith(`https://site.example/confirm/${SECRET}`),
    });
  });

  test('has the address of the site without the secret of the page, and the name of an unknown action', async () => {
    expect(await render({ ...PENDING, action: 'gone' })).toEqual({
      address: 'ada@example.com',
      subject: 'Code for gone',
      text: lineWith('https://site.example'),
    });
  });

  const status = (name: string) => ({ ...PENDING, execution: { status: name } }) as Confirmation;
  test.each<[string, Confirmation | undefined, Partial<MessageRow>]>([
    ['was erased', undefined, {}],
    ['was erased, with its address', { ...PENDING, email: null }, {}],
    ['was confirmed', status('submitted'), {}],
    ['is being sent', status('executing'), {}],
    ['was declined', status('declined'), {}],
    ['expired', status('expired'), {}],
    ['has a newer code', PENDING, { key: `${ID}.1` }],
    ['has no such code', PENDING, { key: `${ID}.3` }],
    ['has no code', { ...PENDING, code_expires_at: null }, {}],
    ['has a code that has expired', { ...PENDING, code_expires_at: clock.now().toISOString() }, {}],
    ['is named by a key without a number', PENDING, { key: ID }],
  ])('is not sent if the confirmation %s', async (_what, found, message) => {
    expect(await render(found, message)).toBeUndefined();
  });
});
