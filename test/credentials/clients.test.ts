/** Rejected contents of the credentials file, whose values are never repeated. */
import { describe, expect, test } from 'vitest';
import { labelIn, parseClients } from '../../src/credentials/clients.ts';
import { NAME_RULE } from '../../src/forms/names.ts';

const SHA256 = 'ab'.repeat(32);
const CANARY = 'canary-4711';
const NOT_A_LABEL = `must be one line of 1 to 60 visible characters, and must ${NAME_RULE}`;
const NOT_A_NAME = `must be one line of 1 to 200 visible characters, and must ${NAME_RULE}`;

const credential = {
  id: 'c_1',
  sha256: SHA256,
  created_at: '2026-09-01T00:00:00.000Z',
  expires_at: null as unknown,
};
const file = (change: object = {}, client: object = {}) =>
  JSON.stringify({
    clients: [
      {
        name: 'acme',
        scopes: ['lead:preview'],
        credentials: [{ ...credential, ...change }],
        ...client,
      },
    ],
  });

describe('parseClients, invalid file', () => {
  test.each([
    [CANARY, 'it is not JSON'],
    [JSON.stringify(CANARY), 'the file: must be object'],
    [JSON.stringify([CANARY]), 'the file: must be object'],
    [JSON.stringify({ client: CANARY }), 'clients: is missing'],
    [JSON.stringify({ clients: CANARY }), 'clients: must be array'],
    [JSON.stringify({ clients: [CANARY] }), 'clients.0: must be object'],
    [file({}, { name: undefined }), 'clients.0.name: is missing'],
    [file({}, { name: `${CANARY}\n` }), `clients.0.name: ${NOT_A_NAME}`],
    [file({}, { name: `\n${CANARY}` }), `clients.0.name: ${NOT_A_NAME}`],
    [file({}, { name: `${CANARY}\u202e` }), `clients.0.name: ${NOT_A_NAME}`],
    [file({ id: `${CANARY}\u200b` }), `clients.0.credentials.0.id: ${NOT_A_NAME}`],
    [file({}, { label: '' }), `clients.0.label: ${NOT_A_LABEL}`],
    [file({}, { label: 'x'.repeat(61) }), `clients.0.label: ${NOT_A_LABEL}`],
    [file({}, { label: `${CANARY}\n` }), `clients.0.label: ${NOT_A_LABEL}`],
    [file({}, { label: `${CANARY}\u202e` }), `clients.0.label: ${NOT_A_LABEL}`],
    [file({}, { label: ` ${CANARY}` }), `clients.0.label: ${NOT_A_LABEL}`],
    [file({}, { label: 4711 }), 'clients.0.label: must be string'],
    [file({}, { label: null }), 'clients.0.label: must be string'],
    [file({}, { sandbox: 'true' }), 'clients.0.sandbox: must be boolean'],
    [file({}, { sandbox: 1 }), 'clients.0.sandbox: must be boolean'],
    [file({}, { sandbox: null }), 'clients.0.sandbox: must be boolean'],
    [file({}, { scopes: [CANARY] }), 'clients.0.scopes.0: must be lead:preview or lead:create'],
    [file({ sha256: CANARY }), 'clients.0.credentials.0.sha256: must be 64 hexadecimal digits'],
    [file({ sha256: `${SHA256}0` }), 'clients.0.credentials.0.sha256: must be 64 hexadecimal digits'],
    [file({ sha256: `x${SHA256}` }), 'clients.0.credentials.0.sha256: must be 64 hexadecimal digits'],
    [file({ sha256: 4711 }), 'clients.0.credentials.0.sha256: must be string'],
    [file({ created_at: CANARY }), 'clients.0.credentials.0.created_at: must be an ISO 8601 time'],
    [file({ expires_at: 4711 }), 'clients.0.credentials.0.expires_at: must be string'],
    [file({ expires_at: undefined }), 'clients.0.credentials.0.expires_at: is missing'],
    [
      file({}, { credentials: [credential, { ...credential, sha256: 'cd'.repeat(32) }] }),
      'the file: two credentials of a client have the same id',
    ],
    [
      JSON.stringify({
        clients: [
          { name: 'one', scopes: [], credentials: [{ ...credential, sha256: 'ef'.repeat(32) }] },
          {
            name: 'two',
            scopes: [],
            credentials: [credential, { ...credential, sha256: 'cd'.repeat(32) }],
          },
        ],
      }),
      'the file: two credentials of a client have the same id',
    ],
    [
      JSON.stringify({
        clients: ['ab', 'cd'].map((pair) => ({
          name: CANARY,
          scopes: ['lead:preview'],
          credentials: [{ ...credential, sha256: pair.repeat(32) }],
        })),
      }),
      'the file: two clients have the same name',
    ],
    [
      file({}, { credentials: [credential, { ...credential, id: 'c_2' }] }),
      'the file: two credentials have the same sha256',
    ],
  ])('returns the place of the fault without any value of the file: %s', (text, why) => {
    expect(parseClients(text)).toEqual({ kind: 'invalid', why });
    expect(why).not.toMatch(/canary|4711/);
  });
});

test.each(['Acme Assistant', '🎨'.repeat(60), '<b>"Acme" & \'Sons\'</b>', 'محمد‌رضا'])(
  'parseClients accepts the label %s unchanged',
  (label) => {
    expect(parseClients(file({}, { label }))).toMatchObject({ file: { clients: [{ label }] } });
  },
);

test.each([
  ['  Acme\t', 'Acme'],
  ['Jose\u0301', 'Jos\u00e9'],
  ['Acme\nBank', undefined],
  ['Acme\u202e', undefined],
  ['Acme\u200b', undefined],
  [' ', undefined],
  ['x'.repeat(61), undefined],
])('labelIn returns a typed label trimmed and in NFC, and undefined for an invalid label: %j', (typed, label) => {
  expect(labelIn(typed)).toBe(label);
});

describe('parseClients, expiry date', () => {
  test.each([
    '2026-12-31T00:00:00.000Z',
    '2026-12-31T00:00:00Z',
    '2026-12-31T00:00:00.123456+01:00',
    '2028-02-29T23:59:59Z',
  ])('accepts %s', (expires_at) => {
    expect(parseClients(file({ expires_at }))).toMatchObject({ kind: 'valid' });
  });

  test.each([
    '2026-12-31',
    '2026-12-31T00:00:00',
    '2026-12-31 00:00:00Z',
    '2026-02-29T00:00:00Z',
    '2026-02-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-12-31T00:00Z',
    '2026-12-31T24:00:00Z',
    '2026-12-31T23:60:00Z',
    '2026-12-31T00:00:00+24:00',
    'next year',
    'x 2026-12-31T00:00:00Z',
    '2026-12-31T00:00:00Z (UTC)',
  ])('rejects %s', (expires_at) => {
    expect(parseClients(file({ expires_at }))).toEqual({
      kind: 'invalid',
      why: 'clients.0.credentials.0.expires_at: must be an ISO 8601 time',
    });
  });
});

test('parseClients keeps unknown members, and returns digests in lower case', () => {
  const parsed = parseClients(file({ sha256: SHA256.toUpperCase(), note: 'ours' }, { team: 'A' }));
  if (parsed.kind === 'invalid') throw new Error(parsed.why);
  expect(parsed.file.clients[0]).toMatchObject({
    team: 'A',
    credentials: [{ sha256: SHA256, note: 'ours' }],
  });
});

test('parseClients ignores a byte order mark at the start of the file, and keeps one inside a value', () => {
  const marked = '\uFEFF';
  const parsed = parseClients(`${marked}${file({ note: `${marked}ours` })}`);
  if (parsed.kind === 'invalid') throw new Error(parsed.why);
  expect(parsed.file.clients[0]?.credentials[0]).toMatchObject({ note: `${marked}ours` });
  const unmarked = parseClients(file({ note: `${marked}ours` }));
  expect(unmarked).toEqual(parsed);
});
