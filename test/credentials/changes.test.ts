import { expect, test } from 'vitest';
import { issue, type NewCredential, revoke, rotate } from '../../src/credentials/changes.ts';
import type { ClientsFile } from '../../src/credentials/clients.ts';

const createdAt = new Date('2026-09-01T12:00:00.000Z');
const overlapEnds = new Date('2026-09-08T12:00:00.000Z');
const created_at = createdAt.toISOString();
const fresh: NewCredential = { sha256: 'f'.repeat(64), createdAt, expiresAt: null };
const held = (id: string, expires_at: string | null = null) => ({
  id,
  sha256: id.padEnd(64, '0'),
  created_at,
  expires_at,
});
const clientOf = (name: string, ...credentials: ReturnType<typeof held>[]) => ({
  name,
  scopes: ['lead:preview' as const],
  credentials,
});
const other = clientOf('other', held('c_1'));
const fileOf = (...clients: ReturnType<typeof clientOf>[]): ClientsFile => ({ clients });
const added = (id: string) => ({ ...held(id), sha256: fresh.sha256 });

test('a new client has its first credential, and the others are as they were', () => {
  expect(issue(fileOf(other), 'acme', ['lead:preview'], fresh)).toEqual({
    kind: 'changed',
    credential: 'c_1',
    file: fileOf(other, clientOf('acme', added('c_1'))),
  });
});

test('a credential ends where it is said to', () => {
  const ending = { ...fresh, expiresAt: overlapEnds };
  expect(issue(fileOf(), 'acme', ['lead:preview'], ending)).toMatchObject({
    file: { clients: [{ credentials: [{ expires_at: overlapEnds.toISOString() }] }] },
  });
});

test('a client that exists is not issued again', () => {
  const refused = { kind: 'refused', why: 'clientExists' };
  expect(issue(fileOf(clientOf('acme'), other), 'other', [], fresh)).toEqual(refused);
});

test('rotated, the older credentials end with the overlap or before, and what had ended goes', () => {
  const soon = '2026-09-02T00:00:00.000Z';
  const far = '2027-01-01T00:00:00.000Z';
  const acme = clientOf(
    'acme',
    held('c_9', created_at),
    held('c_2', soon),
    held('c_10', far),
    held('c_4'),
  );
  const end = overlapEnds.toISOString();
  expect(rotate(fileOf(acme, other), 'acme', fresh, overlapEnds)).toEqual({
    kind: 'changed',
    credential: 'c_11',
    file: fileOf(
      clientOf('acme', held('c_2', soon), held('c_10', end), held('c_4', end), added('c_11')),
      other,
    ),
  });
});

test.each([['mine'], ['c_'], ['xc_5'], ['c_5x'], ['c_1234567890']])(
  'the id %s, which we did not give, takes no number',
  (id) => {
    const { credentials } = clientOf('acme', held(id));
    const rotated = rotate(fileOf(clientOf('acme', ...credentials)), 'acme', fresh, overlapEnds);
    expect(rotated).toMatchObject({ kind: 'changed', credential: 'c_1' });
  },
);

test('a number is not given again though its credential has ended', () => {
  const acme = clientOf('acme', held('c_123456789', created_at));
  const rotated = rotate(fileOf(acme), 'acme', fresh, overlapEnds);
  expect(rotated).toMatchObject({ credential: 'c_123456790' });
});

test('one credential is revoked, or the client with all of them', () => {
  const file = fileOf(clientOf('acme', held('c_1'), held('c_2')), other);
  expect(revoke(file, 'acme', 'c_1')).toEqual({
    kind: 'changed',
    credential: 'c_1',
    file: fileOf(clientOf('acme', held('c_2')), other),
  });
  const without = { kind: 'changed', credential: 'all', file: fileOf(other) };
  expect(revoke(file, 'acme', undefined)).toEqual(without);
  const last = fileOf(clientOf('acme', held('c_1')), other);
  expect(revoke(last, 'acme', 'c_1')).toEqual({ ...without, credential: 'c_1' });
});

test('nobody and nothing can be neither rotated nor revoked', () => {
  const noClient = { kind: 'refused', why: 'noClient' };
  expect(rotate(fileOf(other), 'acme', fresh, overlapEnds)).toEqual(noClient);
  expect(revoke(fileOf(other), 'acme', undefined)).toEqual(noClient);
  const noCredential = { kind: 'refused', why: 'noCredential' };
  expect(revoke(fileOf(other), 'other', 'c_2')).toEqual(noCredential);
});
