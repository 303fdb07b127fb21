import { createHash } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { checkBearer, openCredentials } from '../../src/credentials/file.ts';
import { testClock } from '../support/clock.ts';
import { clientOf, keepingLog, writeCredentials } from './credentials-file.ts';

// A literal, because it is part of test names, by which mutation tests find the tests.
const issued = 'An.Issued_Token-4711';
const odd = 'a.b~c+d/e=:"odd"!';
const clock = testClock();
const credentials = openCredentials({
  path: writeCredentials(
    clientOf('acme', [issued, 'second']),
    clientOf('reader', [odd], ['lead:preview']),
    clientOf('ending', ['ending'], ['lead:create'], '2026-09-01T12:00:01.000Z'),
  ),
  log: keepingLog().log,
  clock,
});
afterAll(() => credentials.close());

const check = (...lines: string[]) => checkBearer(credentials, lines);

test('checkBearer returns missing without an Authorization header', () => {
  expect(check()).toEqual({ kind: 'missing' });
});

test.each([`Bearer ${issued}`, `bearer ${issued}`, `BEARER   ${issued}`, 'Bearer second'])(
  'checkBearer returns the client and its scopes for the header %s',
  (line) => {
    const scopes = new Set(['lead:preview', 'lead:create']);
    expect(check(line)).toEqual({ kind: 'client', name: 'acme', sandbox: false, scopes });
  },
);

test.each(['with a space', 'é', 'à', '"quoted"'])(
  'checkBearer looks up a token with unusual characters by its digest: %s',
  (token) => {
    // Node passes header values as one character per byte.
    const written = Buffer.from(token, 'utf8').toString('latin1');
    const found = { name: 'odd', sandbox: false, scopes: new Set(['lead:preview'] as const) };
    const digest = createHash('sha256').update(token, 'utf8').digest('hex');
    const held = { find: (asked: string) => (asked === digest ? found : undefined) };
    for (const spaces of [' ', '   ']) {
      const caller = checkBearer(held as never, [`Bearer${spaces}${written}`]);
      expect(caller).toEqual({ kind: 'client', ...found });
    }
  },
);

test.each(['Bearer ', 'Bearer   ', 'Basic x'])(
  'checkBearer returns invalid for %j, which contains no token',
  (line) => {
    const everybody = { find: () => ({ name: 'nobody', scopes: new Set() }) };
    expect(checkBearer(everybody as never, [line])).toEqual({ kind: 'invalid' });
  },
);

test('lastUse returns the time at which a valid token last came, and undefined before', () => {
  const own = openCredentials({ path: writeCredentials(clientOf('acme', [issued])), log: keepingLog().log, clock });
  checkBearer(own, ['Bearer another']);
  expect(own.lastUse('acme')).toBeUndefined();
  checkBearer(own, [`Bearer ${issued}`]);
  expect(own.lastUse('acme')).toEqual(clock.now());
  own.close();
});

test('checkBearer finds a token of any visible ASCII characters by its digest', () => {
  const scopes = new Set(['lead:preview']);
  expect(check(`Bearer ${odd}`)).toEqual({ kind: 'client', name: 'reader', sandbox: false, scopes });
});

test.each([
  [''],
  ['Bearer'],
  ['Bearer '],
  ['Bearer   '],
  [`Bearer${issued}`],
  [`Basic ${issued}`],
  [`x Bearer ${issued}`],
  [`${issued}`],
  [`Bearer ${issued} x`],
  [`Bearer ${issued}, Bearer second`],
  [`Bearer\t${issued}`],
  [`Bearer ${issued.slice(0, -1)}`],
  [`Bearer ${issued}x`],
  [`Bearer ${issued.toLowerCase()}`],
  ['Bearer nobody'],
  ['Bearer é'],
  [`Bearer ${issued}`, `Bearer ${issued}`],
  [`Bearer ${issued}`, ''],
])('checkBearer returns invalid for the header lines %j %j', (...lines) => {
  expect(check(...lines.filter((line) => line !== undefined))).toEqual({ kind: 'invalid' });
});

test('checkBearer returns invalid once the wall clock reaches the expiry date', () => {
  expect(check('Bearer ending').kind).toBe('client');
  clock.step(1_000);
  expect(check('Bearer ending')).toEqual({ kind: 'invalid' });
  clock.step(-1_000);
  expect(check('Bearer ending').kind).toBe('client');
});
