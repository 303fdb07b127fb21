/** Texts that each kind of variable accepts or refuses. A list with one bad item is refused as a whole. */
import { describe, expect, test } from 'vitest';
import * as values from '../../src/settings/values.ts';

type Schema = { try(text: string): { ok: true; value: unknown } | { ok: false; message: string } };

const long = 'x'.repeat(200);
const mailboxOf = (length: number) =>
  `a@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}.${'e'.repeat(length - 197)}.fr`;
const key = (bytes: number) => Buffer.alloc(bytes, 'k').toString('base64');

const kinds: Record<string, { schema: Schema; good: string[]; bad: string[] }> = {
  port: {
    schema: values.port,
    good: ['1', '80', '65535'],
    bad: ['', '0', '65536', '80a', 'a80', ' 80', '-1', '000080', '8.0'],
  },
  'whole number': {
    schema: values.whole(2, 123_456_789),
    good: ['2', '123456789'],
    bad: ['1', '1234567890', '2x', 'x2', '1e3', '123456790'],
  },
  mode: {
    schema: values.mode,
    good: ['production', 'development', 'test'],
    bad: ['', 'prod', 'a production', 'production ', 'Production'],
  },
  name: {
    schema: values.name,
    good: ['Ada', ' Ada ', long, '😀'.repeat(200)],
    bad: ['', ' ', `${long}x`, 'a\nb', '\u2800', 'Zoe\u0308', 'a\u200bb'],
  },
  'base URL': {
    schema: values.baseUrl,
    good: ['http://a.example', ' https://a.example:8443/ ', 'HTTPS://a.example'],
    bad: [
      'ftp://a.example',
      'a http://a.example',
      'http:///a',
      'http://\\a',
      'http://a.example/b',
      'http://a b',
      'http://',
    ],
  },
  'database URL': {
    schema: values.databaseUrl,
    good: [
      'sqlite:a',
      'postgres://h',
      'postgresql://u:p%2F@h/d',
      'sqlite:postgres://u:%@h',
      'sqlite:a\nb',
      'sqlite://[a',
    ],
    bad: ['sqlite:', 'a sqlite:b', 'mysql://h', 'postgres://', 'xpostgres://h', 'postgres://h:x', 'postgres://u:p%@h'],
  },
  'Redis URL': {
    schema: values.redisUrl,
    good: ['redis://h', ' rediss://h/1 ', 'REDIS://h', 'redis://h/'],
    bad: ['xredis://h', 'redis:///1', 'redis://h/a', 'redis://h/1a', 'redis://h/1/2', 'redis://h:99999', 'http://h'],
  },
  'SMTP URL': {
    schema: values.smtpUrl,
    good: ['smtp://h', 'smtps://u:p%40@h:465', 'SMTP://h', 'smtp://h/?user=a@b', 'smtp://h?user=a@b', ' smtp://h '],
    bad: [
      'xsmtp://h',
      'smtp://',
      'smtp://u:p/q@h',
      'smtp://u:p#q@h',
      'smtp://u:p?q@h',
      'smtp://u:%zz@h',
      'smtp://h:0x',
    ],
  },
  'upstream URL': {
    schema: values.upstreamUrl,
    good: ['inbox:', 'http://a.example/b?c', 'https://a.example'],
    bad: [
      '',
      'inbox',
      'inbox:x',
      'xhttp://a.example',
      'ftp://a.example',
      'https://u@a.example',
      'https://:p@a.example',
    ],
  },
  'upstream secret': {
    schema: values.upstreamSecrets,
    good: [`whsec_${key(8)}`, `whsec_${key(8)}, whsec_${key(9)},whsec_${key(10)}`],
    bad: [
      ...['', key(8), `whsec_${key(7)}`, `whsec_${key(9)},whsec_${key(7)}`, `whsec_${key(8)},whsec_${key(8)}`],
      ...[`whsec_${key(8)} x`, [8, 9, 10, 11].map((bytes) => `whsec_${key(bytes)}`).join()],
    ],
  },
  'signing keys': {
    schema: values.signingKeys,
    good: [
      key(32),
      `${key(32)},${key(40)}`,
      `${Buffer.concat([Buffer.alloc(31), Buffer.from('k')]).toString('base64')}`,
    ],
    bad: ['', key(31), `${key(32)},${key(31)}`, `${key(32)},${Buffer.alloc(32).toString('base64')}`, `${key(32)}!`],
  },
  mailbox: {
    schema: values.mailbox,
    good: ['a@b.example', ' A@B.example ', '\uff21@b.example', mailboxOf(254)],
    bad: ['', 'a', 'a@b', 'Ada <a@b.example>', 'a@b.example,c@d.example', 'a@b.example\n', mailboxOf(255)],
  },
  operators: {
    schema: values.operators,
    good: ['\uff21@b.example', `c@d.example,${mailboxOf(254)}`],
    bad: ['', 'a@b.example,', `c@d.example,${mailboxOf(255)}`, 'a@b.example,A@b.example'],
  },
  contact: {
    schema: values.contact,
    good: ['a@b.example', '+49 (30) 1-2.3/4', '123', '1'.repeat(40)],
    bad: ['', '12', '1'.repeat(41), 'call 123', '123 call', '1+23', 'a@b'],
  },
  proxies: {
    schema: values.proxies,
    good: ['10.0.0.1', '10.0.0.0/8, ::1', '10.0.0.1, ,'],
    bad: ['proxy.example', '10.0.0.1,x', 'x,10.0.0.1', '0.0.0.0/0', '10.0.0.1,::/0'],
  },
  origins: {
    schema: values.origins,
    good: ['https://a.example', 'https://a.example,http://b.example:8080'],
    bad: [
      'https://a.example/',
      'a.example',
      'https://a.example,x',
      'x,https://a.example',
      'https://*.example',
      'https://a.example,*',
    ],
  },
  'origins of tools': {
    schema: values.toolOrigins,
    good: ['https://claude.ai', 'vscode-file://vscode-app', 'file://', 'http://a.example:8080,https://b.example'],
    bad: [
      'https://a.example/',
      'https://a.example,x',
      'x',
      'x,https://a.example',
      'https://a.example:443',
      'http://*',
      'vscode-file://a/b',
      'undefined//undefined',
    ],
  },
  'names of hosts': {
    schema: values.hostNames,
    good: ['claude.ai', 'a.b-c.d2.example, localhost', 'a', '1.example', 'x1'],
    bad: [
      ...['', ',', 'Claude.ai', 'claude.ai,1.2.3.4', '1.2.3.4', 'claude.ai:443', 'https://claude.ai', '-a.example'],
      ...['a-.example', 'a.example-', 'a..example', '.example', 'a.example.', 'a.-example', 'a_b.example'],
    ],
  },
  'log level': {
    schema: values.logLevel,
    good: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    bad: ['', 'INFO', 'verbose'],
  },
  'meaning of a redirect': { schema: values.redirectMeaning, good: ['unconfirmed', 'confirmed'], bad: ['', 'yes'] },
  'on or off': { schema: values.onOrOff, good: ['on', 'off'], bad: ['', 'true', 'ON'] },
};

/** Texts that another rule of the same kind could refuse too. */
const rules: [string, Schema, string, string][] = [
  ['a name of 201 characters', values.name, '🎨'.repeat(201), 'must have at most 200 characters'],
  [
    'an invalid host',
    values.redisUrl,
    'redis://[fe80::1%eth0]',
    'must be a valid URL with a host and a port from 1 to 65535',
  ],
  [
    'an invalid key',
    values.receiptKeys,
    'x',
    'must contain only PEM blocks of P-256: PRIVATE KEY (PKCS #8) or PUBLIC KEY. Create one with: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256',
  ],
  [
    'an invalid minimum',
    values.confirmationMinimum,
    'x',
    'must be agent, page or page_email, or pairs such as homeowner_quote=page_email,newsletter=page',
  ],
];

test.each(rules)('%s is refused by its own rule', (_case, schema, given, rule) => {
  expect(schema.try(given)).toMatchObject({ ok: false, message: `custom_error at . (${rule})` });
});

describe.each(Object.entries(kinds))('%s', (_kind, { schema, good, bad }) => {
  test.each(good)('%j is accepted', (text) => {
    expect(schema.try(text)).toMatchObject({ ok: true });
  });

  test.each(bad)('%j is refused with a rule', (text) => {
    const read = schema.try(text);
    expect(read.ok).toBe(false);
    expect(read).toMatchObject({ message: expect.stringMatching(/\w/) });
  });
});
