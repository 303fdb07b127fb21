import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { parseClients } from '../../src/credentials/clients.ts';
import { digestOfToken } from '../../src/credentials/file.ts';
import { isIssuedToken } from '../../src/credentials/tokens.ts';
import { NO_RECEIPT_KEYS, parseReceiptKeys } from '../../src/settings/receipt-keys.ts';
import { readSettings } from '../../src/settings/settings.ts';
import { prepareLocalMode, StartFault } from '../../src/start/first-run.ts';
import { testClock } from '../support/clock.ts';
import { newKey } from '../support/receipts.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = join(mkdtempSync(join(tmpdir(), 'first-run-')), 'a', 'data');
});

function prepare(environment: Record<string, string> = {}) {
  const read = readSettings({ DATA_DIR: dataDir, ...environment });
  if (read.kind === 'invalid') throw new Error(read.faults.join('\n'));
  return prepareLocalMode(read.settings, testClock());
}

const textOf = (name: string) => readFileSync(join(dataDir, name), 'utf8');
const KEPT = ['agent-token', 'agents.json', 'preview-signing-key', 'receipt-signing-key'];
const modeOf = (name: string) => statSync(join(dataDir, name)).mode & 0o777;

test('the first start creates the data folder, its keys, and one client with both scopes and its token', async () => {
  const prepared = await prepare();
  expect(prepared.firstRun).toBe(true);
  expect(prepared.tokenFile).toBe(join(dataDir, 'agent-token'));
  expect(readdirSync(dataDir).sort()).toEqual([
    'agent-token',
    'agents.json',
    'preview-signing-key',
    'receipt-signing-key',
  ]);
  expect(prepared.previewSigningKeys).toEqual([Buffer.from(textOf('preview-signing-key'), 'base64')]);
  expect(prepared.previewSigningKeys[0]).toHaveLength(32);
  const receiptKeys = parseReceiptKeys(textOf('receipt-signing-key'));
  expect(receiptKeys?.signing?.kid).toBe(prepared.receiptKeys.signing?.kid);
  expect(prepared.receiptKeys.published).toEqual(receiptKeys?.published);
  const token = textOf('agent-token').trim();
  expect(isIssuedToken(token)).toBe(true);
  expect(parseClients(textOf('agents.json'))).toMatchObject({
    kind: 'valid',
    file: {
      clients: [
        {
          name: 'local-agent',
          scopes: ['lead:preview', 'lead:create'],
          credentials: [{ sha256: digestOfToken(token), expires_at: null }],
        },
      ],
    },
  });
  expect(textOf('agents.json')).not.toContain(token);
});

test.each([0o000, 0o022, 0o077])('the first start creates files with mode 0600 under umask %o', async (umask) => {
  const before = process.umask(umask);
  try {
    await prepare();
  } finally {
    process.umask(before);
  }
  expect(modeOf('.') & 0o077).toBe(0);
  for (const name of readdirSync(dataDir)) expect(modeOf(name)).toBe(0o600);
});

test('the second start changes no file', async () => {
  const first = await prepare();
  const before = KEPT.map(textOf);
  const second = await prepare();
  const { kid } = first.receiptKeys.signing ?? {};
  expect(second).toEqual({ ...first, firstRun: false, receiptKeys: expect.anything() });
  expect(second.receiptKeys.signing?.kid).toBe(kid);
  expect(KEPT.map(textOf)).toEqual(before);
});

test('the next start writes the missing client if the first start ended after it wrote the token', async () => {
  await prepare();
  const token = textOf('agent-token');
  rmSync(join(dataDir, 'agents.json'));
  expect(await prepare()).toMatchObject({ firstRun: true });
  expect(textOf('agent-token')).toBe(token);
  expect(textOf('agents.json')).toContain(digestOfToken(token.trim()));
});

test('the first start uses keys from the settings and creates no key files', async () => {
  const key = Buffer.alloc(32, 'key');
  const prepared = await prepare({ PREVIEW_SIGNING_KEYS: key.toString('base64') });
  expect(prepared).toMatchObject({ previewSigningKeys: [key], firstRun: true });
  expect(await prepare({ PREVIEW_SIGNING_KEYS: key.toString('base64') })).toMatchObject({ firstRun: false });
  expect(readdirSync(dataDir)).not.toContain('preview-signing-key');
  await prepare({ RECEIPT_SIGNING_KEYS: newKey(), DATA_DIR: join(dataDir, 'other') });
  expect(readdirSync(join(dataDir, 'other'))).not.toContain('receipt-signing-key');
});

test('the first start creates no client with AGENT_CREDENTIALS_FILE set, or in an existing agents.json', async () => {
  const own = await prepare({ AGENT_CREDENTIALS_FILE: join(dataDir, 'own.json') });
  expect(own).toMatchObject({ tokenFile: undefined, firstRun: true });
  expect(readdirSync(dataDir).sort()).toEqual(['preview-signing-key', 'receipt-signing-key']);
  writeFileSync(join(dataDir, 'agents.json'), '{"clients":[]}');
  expect(await prepare()).toMatchObject({ tokenFile: undefined, firstRun: false });
  expect(textOf('agents.json')).toBe('{"clients":[]}');
});

test('the first start creates no files in production', async () => {
  const environment = { NODE_ENV: 'production', BASE_URL: 'https://x.example' };
  const expected = {
    previewSigningKeys: [],
    receiptKeys: NO_RECEIPT_KEYS,
    tokenFile: undefined,
    firstRun: false,
  };
  expect(await prepare(environment)).toEqual(expected);
  expect(() => statSync(dataDir)).toThrow('ENOENT');
});

test.each([
  ['the folder is a file', () => writeFileSync(dataDir, ''), 'DATA_DIR'],
  [
    'the folder is below a file',
    () => {
      writeFileSync(dataDir, '');
      dataDir = join(dataDir, 'data');
    },
    'DATA_DIR',
  ],
  [
    'the key is too short',
    () => {
      mkdirSync(dataDir);
      writeFileSync(join(dataDir, 'preview-signing-key'), 'c2hvcnQ=\n');
    },
    'remove that file',
  ],
  [
    'the receipt key is invalid',
    () => {
      mkdirSync(dataDir);
      writeFileSync(join(dataDir, 'receipt-signing-key'), 'c2hvcnQ=\n');
    },
    'remove that file',
  ],
  [
    'the token is invalid',
    () => {
      mkdirSync(dataDir);
      writeFileSync(join(dataDir, 'agent-token'), '');
    },
    'remove that file',
  ],
])('the first start throws StartFault with one sentence and a remedy if %s', async (_, spoil, remedy) => {
  mkdirSync(join(dataDir, '..'), { recursive: true });
  spoil();
  const fault = await prepare().catch((error) => error);
  expect(fault).toBeInstanceOf(StartFault);
  expect(fault.message).toMatch(/^[^\n]+\.$/);
  expect(fault.message).toContain(remedy);
});

describe.each(['agent-token', 'preview-signing-key', 'receipt-signing-key'])(
  'first run with %s in the data folder',
  (name) => {
    test.each([
      ['a named pipe', (path: string) => execFileSync('mkfifo', [path])],
      ['a folder', (path: string) => mkdirSync(path)],
      ['a device or a socket', (path: string) => symlinkSync('/dev/zero', path)],
    ])('throws StartFault if the path is %s', async (kind, make) => {
      mkdirSync(dataDir, { recursive: true });
      make(join(dataDir, name));
      const fault = await prepare().catch((error) => error);
      expect(fault).toBeInstanceOf(StartFault);
      expect(fault.message).toBe(
        `${join(dataDir, name)} is ${kind}, not a file, so remove it, and the next start creates a new file.`,
      );
    });

    test('leaves a symbolic link to no file in place, and throws StartFault', async () => {
      mkdirSync(dataDir, { recursive: true });
      symlinkSync('missing', join(dataDir, name));
      const fault = await prepare().catch((error) => error);
      expect(fault).toBeInstanceOf(StartFault);
      expect(fault.message).toMatch(/^The folder .+ can’t be written \(ENOENT\)/);
      expect(readlinkSync(join(dataDir, name))).toBe('missing');
      expect(readdirSync(dataDir).filter((each) => each.endsWith('.tmp'))).toEqual([]);
    });

    test('reads the file through a symbolic link', async () => {
      const { previewSigningKeys } = await prepare();
      const [path, elsewhere] = [join(dataDir, name), join(dataDir, 'elsewhere')];
      renameSync(path, elsewhere);
      symlinkSync(elsewhere, path);
      expect((await prepare()).previewSigningKeys).toEqual(previewSigningKeys);
    });
  },
);
