/** Changes of the credentials file by command or console (reference §16.4). */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { issueCredential, labelClient, revokeCredential, rotateCredential } from '../../src/credentials/manage.ts';
import { clientOf, writeCredentials } from './credentials-file.ts';

const now = new Date('2026-09-01T12:00:00.000Z');
const scopes = ['lead:preview' as const];

/** Returns a file with one client, and what it contains now. */
function fileWithAcme() {
  const path = writeCredentials(clientOf('acme', ['one']));
  return { file: { path, now }, clients: () => JSON.parse(readFileSync(path, 'utf8')).clients };
}

describe('labelClient', () => {
  test('writes the trimmed label and returns it', async () => {
    const { file, clients } = fileWithAcme();
    const changed = { kind: 'changed', client: 'acme', credentials: [], label: 'Acme Assistant' };
    expect(await labelClient(file, 'acme', ' Acme Assistant ')).toEqual(changed);
    expect(clients()).toMatchObject([{ name: 'acme', label: 'Acme Assistant' }]);
  });

  test.each([
    ['acme', 'a\nb', 'badLabel'],
    ['nobody', 'Nobody', 'noClient'],
  ])('refuses %s with the label %j: %s', async (name, label, why) => {
    const { file, clients } = fileWithAcme();
    expect(await labelClient(file, name, label)).toEqual({ kind: 'refused', why });
    expect(clients()).toHaveLength(1);
    expect(clients()[0].label).toBeUndefined();
  });
});

describe('issueCredential', () => {
  const issue = (name: string) => issueCredential(fileWithAcme().file, { name, scopes, expiresAt: null });

  test.each(['a', 'A.b_c-9', 'x'.repeat(100)])('accepts the name %s', async (name) => {
    expect(await issue(name)).toMatchObject({ kind: 'changed', client: name, credential: 'c_1' });
  });

  test.each(['', '-a', ' a', 'a ', 'a b', 'ä', 'x'.repeat(101)])('refuses the name %j', async (name) => {
    expect(await issue(name)).toEqual({ kind: 'refused', why: 'badName' });
  });

  test('writes the trimmed label, and refuses a label of two lines', async () => {
    const { file, clients } = fileWithAcme();
    const labelled = (label: string) => issueCredential(file, { name: 'new', label, scopes, expiresAt: null });
    expect(await labelled('a\nb')).toEqual({ kind: 'refused', why: 'badLabel' });
    expect(await labelled(' New Assistant ')).toMatchObject({ kind: 'changed' });
    expect(clients()).toMatchObject([{ name: 'acme' }, { name: 'new', label: 'New Assistant' }]);
    expect(await labelled('Again')).toEqual({ kind: 'refused', why: 'clientExists' });
  });

  test('needs an end in the future', async () => {
    const until = (ms: number) =>
      issueCredential(fileWithAcme().file, { name: 'new', scopes, expiresAt: new Date(now.getTime() + ms) });
    expect((await until(1)).kind).toBe('changed');
    for (const ms of [0, -1]) expect(await until(ms)).toEqual({ kind: 'refused', why: 'endIsPast' });
  });
});

test('rotateCredential ends the older credentials after the overlap, and names the change before it', async () => {
  const { file, clients } = fileWithAcme();
  const announced: object[] = [];
  const beforeReplace = async (changed: object) => void announced.push({ ...changed, clients: clients().length });
  const rotated = await rotateCredential(
    { ...file, beforeReplace },
    { name: 'acme', overlapMs: 3_600_000, expiresAt: null },
  );
  expect(rotated).toMatchObject({ kind: 'changed', client: 'acme', credentials: ['c_2'], credential: 'c_2' });
  expect(announced).toEqual([{ client: 'acme', credentials: ['c_2'], clients: 1 }]);
  const ends = clients()[0].credentials.map(({ expires_at }: { expires_at: string | null }) => expires_at);
  expect(ends).toEqual(['2026-09-01T13:00:00.000Z', null]);
});

test('revokeCredential removes the client with its last credential', async () => {
  const { file, clients } = fileWithAcme();
  const changed = { kind: 'changed', client: 'acme', credentials: ['c_1'] };
  expect(await revokeCredential(file, { name: 'acme', credential: 'c_1' })).toEqual(changed);
  expect(clients()).toEqual([]);
});
