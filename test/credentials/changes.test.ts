import { expect, test } from 'vitest';
import { issue, type NewCredential, relabel, revoke, rotate } from '../../src/credentials/changes.ts';
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
const acme = { name: 'acme', scopes: ['lead:preview' as const] };
const other = clientOf('other', held('c_1'));
const fileOf = (...clients: ReturnType<typeof clientOf>[]): ClientsFile => ({ clients });
const added = (id: string) => ({ ...held(id), sha256: fresh.sha256 });

test('issue adds a client with its first credential, and does not change other clients', () => {
  expect(issue(fileOf(other), acme, fresh)).toStrictEqual({
    kind: 'changed',
    credentials: ['c_1'],
    file: fileOf(other, clientOf('acme', added('c_1'))),
  });
});

test('issue marks a sandbox client', () => {
  expect(issue(fileOf(), { ...acme, sandbox: true }, fresh)).toMatchObject({ file: { clients: [{ sandbox: true }] } });
});

test('issue sets the given expiry date', () => {
  const ending = { ...fresh, expiresAt: overlapEnds };
  expect(issue(fileOf(), acme, ending)).toMatchObject({
    file: { clients: [{ credentials: [{ expires_at: overlapEnds.toISOString() }] }] },
  });
});

test('issue and relabel set the label of one client, and write the label before the scopes', () => {
  const issued = issue(fileOf(other), { ...acme, label: 'Acme' }, fresh);
  if (issued.kind === 'refused') throw new Error(issued.why);
  expect(issued.file.clients[1]).toEqual({ ...clientOf('acme', added('c_1')), label: 'Acme' });
  for (const file of [issued.file, fileOf(other, clientOf('acme', added('c_1')))]) {
    const changed = relabel(file, 'acme', 'Acme Assistant');
    if (changed.kind === 'refused') throw new Error(changed.why);
    expect(changed.credentials).toEqual([]);
    const [first, second] = changed.file.clients;
    expect([first, Object.entries(second ?? {}).slice(0, 3)]).toEqual([
      other,
      [
        ['name', 'acme'],
        ['label', 'Acme Assistant'],
        ['scopes', ['lead:preview']],
      ],
    ]);
  }
});

test('issue refuses a client that exists', () => {
  const refused = { kind: 'refused', why: 'clientExists' };
  expect(issue(fileOf(clientOf('acme'), other), { name: 'other', scopes: [] }, fresh)).toEqual(refused);
});

test('rotate expires older credentials at the end of the overlap, and removes expired credentials', () => {
  const soon = '2026-09-02T00:00:00.000Z';
  const far = '2027-01-01T00:00:00.000Z';
  const acme = clientOf('acme', held('c_9', created_at), held('c_2', soon), held('c_10', far), held('c_4'));
  const end = overlapEnds.toISOString();
  expect(rotate(fileOf(acme, other), 'acme', fresh, overlapEnds)).toEqual({
    kind: 'changed',
    credentials: ['c_11'],
    file: fileOf(clientOf('acme', held('c_2', soon), held('c_10', end), held('c_4', end), added('c_11')), other),
  });
});

test.each([['mine'], ['c_'], ['xc_5'], ['c_5x'], ['c_1234567890']])(
  'rotate numbers the new credential c_1 if the only other id is %s, which the commands did not make',
  (id) => {
    const { credentials } = clientOf('acme', held(id));
    const rotated = rotate(fileOf(clientOf('acme', ...credentials)), 'acme', fresh, overlapEnds);
    expect(rotated).toMatchObject({ kind: 'changed', credentials: ['c_1'] });
  },
);

test('rotate does not reuse the number of an expired credential', () => {
  const acme = clientOf('acme', held('c_123456789', created_at));
  const rotated = rotate(fileOf(acme), 'acme', fresh, overlapEnds);
  expect(rotated).toMatchObject({ credentials: ['c_123456790'] });
});

test('revoke removes one credential, or the client if the credential was its last or none is named', () => {
  const file = fileOf(clientOf('acme', held('c_1'), held('c_2')), other);
  expect(revoke(file, 'acme', 'c_1')).toEqual({
    kind: 'changed',
    credentials: ['c_1'],
    file: fileOf(clientOf('acme', held('c_2')), other),
  });
  const without = { kind: 'changed', file: fileOf(other) };
  expect(revoke(file, 'acme', undefined)).toEqual({ ...without, credentials: ['c_1', 'c_2'] });
  const last = fileOf(clientOf('acme', held('c_1')), other);
  expect(revoke(last, 'acme', 'c_1')).toEqual({ ...without, credentials: ['c_1'] });
  expect(revoke(fileOf(clientOf('acme'), other), 'acme', undefined)).toEqual({ ...without, credentials: [] });
});

test('rotate, relabel and revoke refuse an unknown client or credential', () => {
  const noClient = { kind: 'refused', why: 'noClient' };
  expect(rotate(fileOf(other), 'acme', fresh, overlapEnds)).toEqual(noClient);
  expect(relabel(fileOf(other), 'acme', 'Acme')).toEqual(noClient);
  expect(revoke(fileOf(other), 'acme', undefined)).toEqual(noClient);
  const noCredential = { kind: 'refused', why: 'noCredential' };
  expect(revoke(fileOf(other), 'other', 'c_2')).toEqual(noCredential);
});
