/** A connection has no more rights than its client. A client has none without a valid credential (reference §16). */
import { afterAll, describe, expect, test } from 'vitest';
import { callerOf, digestOfToken, openCredentials } from '../../src/credentials/file.ts';
import { testClock } from '../support/clock.ts';
import { clientOf, keepingLog, writeCredentials } from './credentials-file.ts';

const clock = testClock();
const soon = new Date(clock.now().getTime() + 60_000).toISOString();
const credentials = openCredentials({
  path: writeCredentials(
    clientOf('acme', ['one', 'two']),
    clientOf('reader', ['read'], ['lead:preview']),
    clientOf('ending', ['last'], ['lead:preview', 'lead:create'], soon),
    { ...clientOf('tester', ['test']), sandbox: true },
  ),
  log: keepingLog().log,
  clock,
});
afterAll(() => credentials.close());

describe('callerOf', () => {
  const granted = new Set(['lead:preview', 'lead:receipts']);

  test('returns the client of a delegation with the scopes that both have', () => {
    const delegation = { credential: digestOfToken('one'), client: 'acme', scopes: granted };
    expect(callerOf(credentials, delegation)).toEqual({
      ...{ kind: 'client', name: 'acme', sandbox: false },
      scopes: new Set(['lead:preview']),
    });
  });

  test.each([
    ['a revoked credential', 'gone', 'acme'],
    ['a credential of another client', 'read', 'acme'],
  ])('returns invalid for a delegation of %s', (_which, token, client) => {
    const delegation = { credential: digestOfToken(token), client, scopes: granted };
    expect(callerOf(credentials, delegation)).toEqual({ kind: 'invalid' });
  });
});

describe('mayStill', () => {
  test.each([
    ['acme', 'lead:create', false, true],
    ['reader', 'lead:preview', false, true],
    ['reader', 'lead:create', false, false],
    ['nobody', 'lead:create', false, false],
    ['tester', 'lead:create', true, true],
    ['tester', 'lead:create', false, false],
    ['acme', 'lead:create', true, false],
  ])('of %s for %s, sandbox %s, is %s', (name, scope, sandbox, may) => {
    expect(credentials.mayStill(name, scope, sandbox)).toBe(may);
  });

  test('is for a real client without a third argument', () => {
    expect(['acme', 'tester'].map((name) => credentials.mayStill(name, 'lead:create'))).toEqual([true, false]);
  });

  test('ends with the last credential of a client', () => {
    expect(credentials.mayStill('ending', 'lead:create')).toBe(true);
    clock.step(60_000);
    expect(credentials.mayStill('ending', 'lead:create')).toBe(false);
  });
});
