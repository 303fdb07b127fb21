import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  type Credentials,
  CredentialsFault,
  digestOfToken,
  faultsOfCredentials,
  openCredentials,
} from '../../src/credentials/file.ts';
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

const write = (path: string, ...clients: unknown[]) => writeFileSync(path, JSON.stringify({ clients }));

describe('openCredentials at the start', () => {
  test('has no client and no fault without a file', () => {
    const { credentials, nameOf } = open(undefined);
    expect(nameOf('anything')).toBeUndefined();
    expect(credentials.state()).toEqual({ clients: 0, fault: undefined });
    expect([undefined, ''].flatMap(faultsOfCredentials)).toEqual([]);
    expect(faultsOfCredentials(writeCredentials())).toEqual([]);
  });

  test('accepts several credentials of one client, and digests in capital letters', () => {
    const [acme, other] = [clientOf('acme', ['one', 'two']), clientOf('other', ['three'])];
    for (const credential of acme.credentials) credential.sha256 = credential.sha256.toUpperCase();
    const { credentials, nameOf } = open(writeCredentials(acme, other));
    expect(['one', 'two', 'three', 'four'].map(nameOf)).toEqual(['acme', 'acme', 'other', undefined]);
    expect(credentials.state()).toEqual({ clients: 2, fault: undefined });
  });

  test.each([
    [
      'is missing',
      (path: string) => rmSync(path),
      /^AGENT_CREDENTIALS_FILE .*can’t be read \(ENOENT\)\. Create it with: npm run credentials -- issue NAME$/,
    ],
    [
      'is a folder',
      (path: string) => {
        rmSync(path);
        mkdirSync(path);
      },
      /^AGENT_CREDENTIALS_FILE .*can’t be read \(a folder\)\.$/,
    ],
    [
      'is a named pipe',
      (path: string) => {
        rmSync(path);
        execFileSync('mkfifo', [path]);
      },
      /^AGENT_CREDENTIALS_FILE .*can’t be read \(a named pipe\)\.$/,
    ],
  ])('throws CredentialsFault with the name of the setting if the file %s', (_, spoil, sentence) => {
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
    ['invalid JSON', '{"canary": "canary'],
    ['no content', ''],
    ['no list of clients', '{}'],
    ['an unknown scope', { ...acme, scopes: ['canary'] }],
    ['a short digest', { ...acme, credentials: [{ ...credential, sha256: 'canary' }] }],
    ['no expiry date', { ...acme, credentials: [{ ...credential, expires_at: undefined }] }],
    ['an invalid expiry date', { ...acme, credentials: [{ ...credential, expires_at: 'canary' }] }],
    ['an empty name', { ...acme, name: '' }],
    ['two clients with the same name', [acme, { ...acme, credentials: [] }]],
    ['the same digest for two clients', [acme, { ...acme, name: 'other' }]],
    [
      'two credentials with the same id',
      { ...acme, credentials: [credential, { ...credential, sha256: 'b'.repeat(64) }] },
    ],
  ])('throws CredentialsFault in one sentence, without a value of the file, for a file with %s', (_, content) => {
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

describe('openCredentials while the file changes', () => {
  test('keeps the last valid clients if a named pipe replaces the file', async () => {
    const path = writeCredentials(clientOf('acme', ['one']));
    const { nameOf, lines } = open(path);
    rmSync(path);
    execFileSync('mkfifo', [path]);
    await vi.waitFor(() => expect(lines.join()).toContain('(a named pipe). The last valid file'));
    expect(nameOf('one')).toBe('acme');
  });

  test('applies additions and removals without a restart', async () => {
    const path = writeCredentials(clientOf('acme', ['one']));
    const { nameOf, lines } = open(path);
    write(path, clientOf('other', ['two']), clientOf('more', []));
    await vi.waitFor(() => expect(nameOf('two')).toBe('other'));
    expect(lines).toEqual(['{"clients":2} agent credentials reloaded']);
    expect(nameOf('one')).toBeUndefined();
    // The command renames another file over this one.
    write(`${path}.new`, clientOf('third', ['three']));
    renameSync(`${path}.new`, path);
    await vi.waitFor(() => expect(nameOf('three')).toBe('third'));
  });

  test('reload applies a change at once, also while another reload runs', async () => {
    const path = writeCredentials(clientOf('acme', ['one']));
    const { credentials, nameOf } = open(path, 1);
    for (let number = 2; number < 40; number += 1) {
      const earlier = credentials.reload();
      write(path, clientOf('acme', [`token ${number}`]));
      await credentials.reload();
      expect(nameOf(`token ${number}`)).toBe('acme');
      await earlier;
    }
    await open(undefined).credentials.reload();
  });

  test('labelOf returns the label, or the name if the client has no label or is not in the file', async () => {
    const path = writeCredentials({ ...clientOf('acme', ['one']), label: 'Acme Assistant' }, clientOf('other', []));
    const { credentials } = open(path);
    expect(['acme', 'other', 'gone'].map(credentials.labelOf)).toEqual(['Acme Assistant', 'other', 'gone']);
    expect(credentials.clients().map(({ label }) => label)).toEqual(['Acme Assistant', undefined]);
    write(path, { ...clientOf('acme', ['one']), label: 'Acme' });
    await credentials.reload();
    expect(credentials.labelOf('acme')).toBe('Acme');
  });

  test('logs an invalid file once, and keeps the last valid clients', async () => {
    const path = writeCredentials(clientOf('acme', ['one']));
    const { credentials, nameOf, lines } = open(path);
    writeFileSync(path, '{"clients": [{"name": "canary"');
    await vi.waitFor(() => expect(credentials.state().fault).toContain('not valid'));
    await readAgainTimes(5);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/AGENT_CREDENTIALS_FILE.*last valid file stays/);
    expect(lines.join()).not.toContain('canary');
    expect(nameOf('one')).toBe('acme');

    rmSync(path);
    await vi.waitFor(() => expect(credentials.state().fault).toContain('ENOENT'));
    await readAgainTimes(5);
    expect(lines).toHaveLength(2);
    expect(nameOf('one')).toBe('acme');
  });

  test('clears the fault once the file is valid again, even with the same content', async () => {
    const path = writeCredentials(clientOf('acme', ['one']));
    const { credentials, nameOf } = open(path);
    rmSync(path);
    await vi.waitFor(() => expect(credentials.state().fault).toBeDefined());
    write(path, clientOf('acme', ['one']));
    await vi.waitFor(() => expect(credentials.state().fault).toBeUndefined());
    expect(nameOf('one')).toBe('acme');
  });

  test('logs nothing after a change of permissions', async () => {
    const path = writeCredentials(clientOf('acme', ['one']));
    const { lines } = open(path);
    chmodSync(path, 0o644);
    await readAgainTimes(5);
    expect(lines).toEqual([]);
  });
});

/** Waits until another file with the same schedule was read that many times. */
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
