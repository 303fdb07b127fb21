import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  type Credentials,
  CredentialsFault,
  faultsOfCredentials,
  openCredentials,
} from '../../src/credentials/file.ts';
import { digestOfToken } from '../../src/credentials/tokens.ts';
import { testClock } from '../support/clock.ts';
import { clientOf, keepingLog, writeCredentials } from './credentials-file.ts';

let opened: Credentials | undefined;
afterEach(() => opened?.close());

function open(path: string | undefined, pollMs = 5) {
  const { log, lines } = keepingLog();
  const credentials = openCredentials({ path, log, clock: testClock(), pollMs });
  opened = credentials;
  const nameOf = (token: string) => credentials.find(digestOfToken(token))?.name;
  return { credentials, lines, nameOf };
}

const write = (path: string, ...clients: unknown[]) =>
  writeFileSync(path, JSON.stringify({ clients }));

describe('at the start', () => {
  test('without a file nobody is valid', () => {
    const { credentials, nameOf } = open(undefined);
    expect(nameOf('anything')).toBeUndefined();
    expect(credentials.state()).toEqual({ clients: 0, fault: undefined });
    expect([undefined, ''].flatMap(faultsOfCredentials)).toEqual([]);
    expect(faultsOfCredentials(writeCredentials())).toEqual([]);
  });

  test('several credentials of one client are valid at once, and capital digests count too', () => {
    const [acme, other] = [clientOf('acme', ['one', 'two']), clientOf('other', ['three'])];
    for (const credential of acme.credentials) credential.sha256 = credential.sha256.toUpperCase();
    const { credentials, nameOf } = open(writeCredentials(acme, other));
    expect(['one', 'two', 'three', 'four'].map(nameOf)).toEqual([
      'acme',
      'acme',
      'other',
      undefined,
    ]);
    expect(credentials.state()).toEqual({ clients: 2, fault: undefined });
  });

  test.each([
    [
      'is missing',
      (path: string) => rmSync(path),
      /^AGENT_CREDENTIALS_FILE .*can’t be read \(ENOENT\)\. This makes it: npm run credentials -- issue NAME$/,
    ],
    [
      'is a folder',
      (path: string) => {
        rmSync(path);
        mkdirSync(path);
      },
      /^AGENT_CREDENTIALS_FILE .*can’t be read \(E[A-Z]+\)\.$/,
    ],
  ])('a file that %s is a fault that names the setting', (_, spoil, sentence) => {
    const path = writeCredentials();
    spoil(path);
    expect(() => open(path)).toThrow(CredentialsFault);
    expect(() => open(path)).toThrow(expect.objectContaining({ name: 'CredentialsFault' }));
    expect(() => open(path)).toThrow(sentence);
    expect(faultsOfCredentials(path)).toEqual([expect.stringMatching(sentence)]);
  });

  const acme = clientOf('acme', ['canary']);
  const [credential] = acme.credentials;
  test.each([
    ['no JSON', '{"canary": "canary'],
    ['empty', ''],
    ['no clients', '{}'],
    ['an unknown scope', { ...acme, scopes: ['canary'] }],
    ['a short digest', { ...acme, credentials: [{ ...credential, sha256: 'canary' }] }],
    ['no end', { ...acme, credentials: [{ ...credential, expires_at: undefined }] }],
    ['an end that is no time', { ...acme, credentials: [{ ...credential, expires_at: 'canary' }] }],
    ['an empty name', { ...acme, name: '' }],
    ['two clients of one name', [acme, { ...acme, credentials: [] }]],
    ['one digest for two clients', [acme, { ...acme, name: 'other' }]],
    [
      'two credentials of one id',
      { ...acme, credentials: [credential, { ...credential, sha256: 'b'.repeat(64) }] },
    ],
  ])('a file with %s is a fault of one sentence, without what it holds', (_, content) => {
    const path = writeCredentials();
    if (typeof content === 'string') writeFileSync(path, content);
    else write(path, ...[content].flat());
    let fault: unknown;
    try {
      open(path);
    } catch (error) {
      fault = error;
    }
    expect(fault).toBeInstanceOf(CredentialsFault);
    const { message } = fault as Error;
    expect(message).toMatch(/^AGENT_CREDENTIALS_FILE [^\n]+\.$/);
    expect(message).not.toContain('canary');
    expect(message).not.toContain(credential?.sha256);
  });
});

describe('while it runs', () => {
  test('additions and removals count without a restart', async () => {
    const path = writeCredentials(clientOf('acme', ['one']));
    const { nameOf, lines } = open(path);
    write(path, clientOf('other', ['two']), clientOf('more', []));
    await vi.waitFor(() => expect(nameOf('two')).toBe('other'));
    expect(lines).toEqual(['{"clients":2} the agent credentials were read again']);
    expect(nameOf('one')).toBeUndefined();
    // The way the command writes: another file is renamed over this one.
    write(`${path}.new`, clientOf('third', ['three']));
    renameSync(`${path}.new`, path);
    await vi.waitFor(() => expect(nameOf('three')).toBe('third'));
  });

  test('a broken file is refused with one line, and the last good one stays in force', async () => {
    const path = writeCredentials(clientOf('acme', ['one']));
    const { credentials, nameOf, lines } = open(path);
    writeFileSync(path, '{"clients": [{"name": "canary"');
    await vi.waitFor(() => expect(credentials.state().fault).toContain('not valid'));
    await readAgainTimes(5);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/AGENT_CREDENTIALS_FILE.*last good one stays/);
    expect(lines.join()).not.toContain('canary');
    expect(nameOf('one')).toBe('acme');

    rmSync(path);
    await vi.waitFor(() => expect(credentials.state().fault).toContain('ENOENT'));
    await readAgainTimes(5);
    expect(lines).toHaveLength(2);
    expect(nameOf('one')).toBe('acme');
  });

  test('a file that is whole again counts again, the same content included', async () => {
    const path = writeCredentials(clientOf('acme', ['one']));
    const { credentials, nameOf } = open(path);
    rmSync(path);
    await vi.waitFor(() => expect(credentials.state().fault).toBeDefined());
    write(path, clientOf('acme', ['one']));
    await vi.waitFor(() => expect(credentials.state().fault).toBeUndefined());
    expect(nameOf('one')).toBe('acme');
  });

  test('a change of permissions alone logs nothing', async () => {
    const path = writeCredentials(clientOf('acme', ['one']));
    const { lines } = open(path);
    chmodSync(path, 0o644);
    await readAgainTimes(5);
    expect(lines).toEqual([]);
  });
});

/** Until another file, which is read by the same schedule, was seen to change so many times. */
async function readAgainTimes(times: number): Promise<void> {
  const path = join(writeCredentials(), '..', 'other.json');
  write(path);
  const { log } = keepingLog();
  const other = openCredentials({ path, log, clock: testClock(), pollMs: 5 });
  for (let round = 1; round <= times; round += 1) {
    write(path, ...Array.from({ length: round }, (_, index) => clientOf(`n${index}`, [])));
    await vi.waitFor(() => expect(other.state().clients).toBe(round), { interval: 2 });
  }
  other.close();
}
