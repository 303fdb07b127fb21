/** Clients whose credentials end soon (reference §12.6). */
import { expect, test } from 'vitest';
import { endingClients, type ListedClient } from '../../src/credentials/file.ts';

const day = (n: number) => `2026-09-0${n}T00:00:00.000Z`;
const now = new Date(day(3));
const before = new Date(day(6));

/** Returns a client whose credentials end at these times. */
function ending(name: string, ...ends: (string | null)[]): ListedClient {
  const credentials = ends.map((expiresAt, n) => ({ id: `c_${n}`, createdAt: day(1), expiresAt }));
  return { name, sandbox: false, scopes: ['lead:preview'], credentials };
}

test('endingClients names a client by the end of its last credential, earliest end first', () => {
  const clients = [ending('later', day(5)), ending('two', day(4), `2026-09-04T12:00:00+02:00`), ending('soon', day(4))];
  expect(endingClients(clients, { now, before })).toEqual([
    { name: 'soon', endsAt: day(4) },
    { name: 'two', endsAt: '2026-09-04T10:00:00.000Z' },
    { name: 'later', endsAt: day(5) },
  ]);
});

test.each([
  ['a credential that does not end', [day(4), null]],
  ['a credential that ends later', [day(4), day(7)]],
  ['a credential that ends at the limit', [day(6)]],
  ['only credentials that have ended', [day(2), day(3)]],
  ['no credential', []],
])('endingClients leaves out a client with %s', (_which, ends) => {
  expect(endingClients([ending('acme', ...ends)], { now, before })).toEqual([]);
});

test('endingClients ignores a credential that has ended', () => {
  expect(endingClients([ending('acme', day(2), day(5))], { now, before })).toEqual([{ name: 'acme', endsAt: day(5) }]);
});
