import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { parseClients } from '../../src/credentials/clients.ts';
import { isIssuedToken } from '../../src/credentials/tokens.ts';
import { runService, temporaryFolder } from './run-service.ts';

let file: string;

beforeEach(() => {
  file = join(temporaryFolder(), 'agents.json');
});

const credentials = (...args: string[]) =>
  runService(['credentials', ...args], { environment: { AGENT_CREDENTIALS_FILE: file } });

function clients() {
  const parsed = parseClients(readFileSync(file, 'utf8'));
  if (parsed.kind === 'invalid') throw new Error(parsed.why);
  return parsed.file.clients;
}

const digest = (token: string) => createHash('sha256').update(token).digest('hex');

describe('credentials issue', () => {
  test('prints only the token on stdout, and stores its digest in a file with mode 0600', async () => {
    const ran = await credentials('issue', 'acme');
    const token = ran.stdout.trimEnd();
    expect(ran.status).toBe(0);
    expect(isIssuedToken(token)).toBe(true);
    expect(ran.stderr).not.toContain(token);
    expect(readFileSync(file, 'utf8')).not.toContain(token);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(clients()).toEqual([
      {
        name: 'acme',
        scopes: ['lead:preview', 'lead:create'],
        credentials: [
          {
            id: 'c_1',
            sha256: digest(token),
            created_at: expect.stringMatching(/Z$/),
            expires_at: null,
          },
        ],
      },
    ]);
  });

  test('stores the given scopes and expiry date, and prints token and date as JSON with --json', async () => {
    const { stdout } = await credentials(
      ...['issue', 'acme', '--scope', 'lead:preview', '--expires', '2099-01-01', '--json'],
    );
    const said = JSON.parse(stdout);
    expect(said).toMatchObject({ client: 'acme', credential: 'c_1' });
    expect(said.expires_at).toBe('2099-01-01T00:00:00.000Z');
    expect(clients()[0]).toMatchObject({
      scopes: ['lead:preview'],
      credentials: [{ sha256: digest(said.token), expires_at: '2099-01-01T00:00:00.000Z' }],
    });
  });

  test('stores the label of --label, and no label without that option', async () => {
    await credentials('issue', 'acme', '--label', ' Acme “Assistant” ');
    await credentials('issue', 'other');
    expect(clients().map(({ label }) => label)).toEqual(['Acme “Assistant”', undefined]);
  });

  test('marks a client of --sandbox, which list shows, and no other client', async () => {
    await credentials('issue', 'acme-test', '--sandbox');
    await credentials('issue', 'acme');
    expect(clients().map(({ sandbox }) => sandbox)).toEqual([true, undefined]);
    expect((await credentials('list')).stdout).toMatch(/^acme-test +sandbox +c_1 [^\n]+\nacme +real +c_1 /m);
    const listed = JSON.parse((await credentials('list', '--json')).stdout);
    expect(listed).toMatchObject([
      { client: 'acme-test', sandbox: true },
      { client: 'acme', sandbox: false },
    ]);
  });

  test.each([
    ['a name with a blank', ['issue', 'acme assistant']],
    ['an empty label', ['issue', 'acme', '--label', '']],
    ['a label over 60 characters', ['issue', 'acme', '--label', 'x'.repeat(61)]],
    ['a label with a line break', ['issue', 'acme', '--label', 'Acme\nBank']],
    ['a label with a mark that turns the direction', ['issue', 'acme', '--label', 'Acme\u202e']],
  ])('refuses %s with status 2 and one sentence, and writes nothing', async (_, args) => {
    const ran = await credentials(...args);
    expect(ran).toMatchObject({ status: 2, stdout: '' });
    expect(ran.stderr).toMatch(/^A (?:name|label) has [^\n]+\n$/);
    expect(existsSync(file)).toBe(false);
  });

  test.each([
    ['an unknown scope', ['--scope', 'lead:delete']],
    ['an expiry date in the past', ['--expires', '2020-01-01']],
  ])('refuses %s with status 2 and writes nothing', async (_, args) => {
    expect((await credentials('issue', 'acme', ...args)).status).toBe(2);
    expect(existsSync(file)).toBe(false);
  });

  test('refuses a client that exists, and suggests rotate', async () => {
    await credentials('issue', 'acme');
    const before = readFileSync(file, 'utf8');
    const ran = await credentials('issue', 'acme');
    expect(ran).toMatchObject({ status: 1, stdout: '' });
    expect(ran.stderr).toContain('rotate acme');
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  test('stores all clients that are issued at the same time', async () => {
    const names = ['a', 'b', 'c', 'd'];
    const ran = await Promise.all(names.map((name) => credentials('issue', name)));
    expect(ran.map(({ status }) => status)).toEqual([0, 0, 0, 0]);
    expect(
      clients()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(names);
    expect(existsSync(`${file}.lock`)).toBe(false);
  });

  test('removes a lock file that is a minute old and issues the credential', async () => {
    writeFileSync(`${file}.lock`, '');
    const longAgo = new Date(Date.now() - 60_000);
    utimesSync(`${file}.lock`, longAgo, longAgo);
    expect((await credentials('issue', 'acme')).status).toBe(0);
  });

  test('exits with 1 and does not change the file if the file is damaged', async () => {
    writeFileSync(file, '{"clients": [');
    const ran = await credentials('issue', 'acme');
    expect(ran).toMatchObject({ status: 1, stdout: '' });
    expect(readFileSync(file, 'utf8')).toBe('{"clients": [');
  });

  test('writes to the target of a symbolic link, and keeps the other entries of the file', async () => {
    const real = join(temporaryFolder(), 'real.json');
    writeFileSync(real, '{"note": "ours", "clients": []}');
    symlinkSync(real, file);
    expect((await credentials('issue', 'acme')).status).toBe(0);
    const written = JSON.parse(readFileSync(real, 'utf8'));
    expect(written.note).toBe('ours');
    expect(written.clients).toHaveLength(1);
  });

  test('exits with 1 and names AGENT_CREDENTIALS_FILE if it is not set in production', async () => {
    const environment = { NODE_ENV: 'production', BASE_URL: 'https://x.example' };
    const ran = await runService(['credentials', 'issue', 'acme'], { environment });
    expect(ran).toMatchObject({ status: 1, stdout: '' });
    expect(ran.stderr).toMatch(/^AGENT_CREDENTIALS_FILE [^\n]+\n$/);
  });
});

describe('credentials rotate', () => {
  test('adds a token, and the old token expires after the overlap', async () => {
    const old = (await credentials('issue', 'acme')).stdout.trim();
    const started = Date.now();
    const ran = await credentials('rotate', 'acme', '--overlap', '48h');
    const [first, second] = clients()[0]?.credentials ?? [];
    expect(first).toMatchObject({ id: 'c_1', sha256: digest(old) });
    expect(second).toMatchObject({
      id: 'c_2',
      sha256: digest(ran.stdout.trim()),
      expires_at: null,
    });
    const overlap = Date.parse(first?.expires_at ?? '') - started;
    expect(overlap).toBeGreaterThanOrEqual(48 * 3_600_000);
    expect(overlap).toBeLessThan(48 * 3_600_000 + 60_000);
  });

  test('never postpones an expiry date, and removes expired credentials', async () => {
    const sha256 = (fill: string) => fill.repeat(64);
    const created_at = '2026-09-01T00:00:00.000Z';
    const given = [
      { id: 'c_1', sha256: sha256('a'), created_at, expires_at: '2026-09-02T00:00:00.000Z' },
      { id: 'c_2', sha256: sha256('b'), created_at, expires_at: '2999-01-01T00:00:00.000Z' },
    ];
    writeFileSync(file, JSON.stringify({ clients: [{ name: 'acme', scopes: ['lead:create'], credentials: given }] }));
    await credentials('rotate', 'acme', '--overlap', '999999d');
    const [client] = clients();
    expect(client?.scopes).toEqual(['lead:create']);
    expect(client?.credentials.map(({ id }) => id)).toEqual(['c_2', 'c_3']);
    expect(client?.credentials[0]?.expires_at).toBe('2999-01-01T00:00:00.000Z');
  });

  test('exits with 1 for a client that does not exist', async () => {
    expect(await credentials('rotate', 'acme')).toMatchObject({ status: 1, stdout: '' });
  });
});

describe('credentials label', () => {
  test('sets and replaces the label of one client, and keeps its other entries', async () => {
    await credentials('issue', 'acme');
    await credentials('issue', 'other');
    const before = clients();
    expect(await credentials('label', 'acme', 'Acme')).toMatchObject({ status: 0, stdout: '' });
    const ran = await credentials('label', 'acme', 'Jose\u0301’s Assistant ', '--json');
    expect(JSON.parse(ran.stdout)).toEqual({ client: 'acme', label: 'José’s Assistant' });
    expect(clients()).toEqual([{ ...before[0], label: 'José’s Assistant' }, before[1]]);
  });

  test('refuses an unknown client with status 1, and a deceiving or missing label with status 2', async () => {
    await credentials('issue', 'acme');
    const before = readFileSync(file, 'utf8');
    expect(await credentials('label', 'other', 'Other')).toMatchObject({ status: 1, stdout: '' });
    for (const label of [[], [''], ['Acme\u200b'], ['Acme', 'Assistant']]) {
      expect(await credentials('label', 'acme', ...label)).toMatchObject({ status: 2, stdout: '' });
    }
    expect(readFileSync(file, 'utf8')).toBe(before);
  });
});

describe('credentials revoke', () => {
  test('exits with 2 and removes nothing if there is no terminal and no --yes', async () => {
    await credentials('issue', 'acme');
    const ran = await credentials('revoke', 'acme');
    expect(ran).toMatchObject({ status: 2, stdout: '' });
    expect(ran.stderr).toContain('--yes');
    expect(clients()).toHaveLength(1);
  });

  test('removes one credential with --credential, and the client with its last credential', async () => {
    await credentials('issue', 'acme');
    await credentials('rotate', 'acme');
    expect((await credentials('revoke', 'acme', '--credential', 'c_9', '--yes')).status).toBe(1);
    expect((await credentials('revoke', 'acme', '--credential', 'c_1', '--yes')).status).toBe(0);
    expect(clients()[0]?.credentials.map(({ id }) => id)).toEqual(['c_2']);
    await credentials('revoke', 'acme', '--credential', 'c_2', '--yes');
    expect(clients()).toEqual([]);
  });

  test('removes a client with all its credentials if --credential is not given', async () => {
    await credentials('issue', 'acme');
    await credentials('issue', 'other');
    expect((await credentials('revoke', 'acme', '--yes')).status).toBe(0);
    expect(clients().map(({ name }) => name)).toEqual(['other']);
  });
});

test('credentials list shows names, labels, scopes, ids and dates, but no digest', async () => {
  await credentials('issue', 'acme', '--scope', 'lead:create');
  const [credential] = clients()[0]?.credentials ?? [];
  const table = await credentials('list');
  expect(table.stdout).toMatch(/^CLIENT/);
  expect(table.stdout).toMatch(/^acme +real +c_1 +lead:create +\S+ +never$/m);
  await credentials('label', 'acme', 'Acme Assistant');
  expect((await credentials('list')).stdout).toMatch(/^acme +Acme Assistant +real +c_1 +lead:create +\S+ +never$/m);
  await credentials('issue', 'other');
  const json = await credentials('list', '--json');
  expect(JSON.parse(json.stdout)).toMatchObject([
    { client: 'acme', label: 'Acme Assistant', credential: 'c_1' },
    { client: 'other', label: null, credential: 'c_1' },
  ]);
  expect(table.stdout + json.stdout).not.toContain(credential?.sha256.slice(0, 16));
});
