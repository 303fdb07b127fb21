/** Files that an edit reads, writes and waits for (reference §16.3). */
import { execFileSync } from 'node:child_process';
import fs, {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ClientsFile } from '../../src/credentials/clients.ts';
import { clientsIfReadable, editClients, isEditable, readClients } from '../../src/credentials/edit.ts';
import { temporaryFolder } from '../support/process.ts';

/** Same values as in `src/credentials/edit.ts`: age of a stale lock, and maximum wait for another one. */
const STALE_LOCK_MS = 10_000;
const LOCK_WAIT_MS = 100 * 20;

const { fsyncSync, openSync } = fs;
const real = { accessSync: fs.accessSync, fsyncSync, openSync, readFileSync, statSync, writeFileSync };
const now = new Date('2026-09-01T12:00:00.000Z');

let folder: string;
let path: string;
let lock: string;

beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder, 'agents.json');
  lock = `${path}.lock`;
  writeFileSync(path, '{"clients": []}');
});
afterEach(() => {
  vi.useRealTimers();
  Object.assign(fs, real);
  syncBuiltinESMExports();
});

const client = (name: string) => ({ name, scopes: [], credentials: [] });
const adding = (name: string) => (file: ClientsFile) => ({
  clients: [...file.clients, client(name)],
});
const names = (of = path) => readClients(of).clients.map(({ name }) => name);

/** Calls `act` just before a function of Node's fs is called with a matching path. */
function before(name: keyof typeof real, of: RegExp, act: () => void): void {
  const own = real[name] as (...given: unknown[]) => unknown;
  Object.assign(fs, {
    [name]: (...given: unknown[]) => {
      if (of.test(String(given[0]))) act();
      return own(...given);
    },
  });
  syncBuiltinESMExports();
}

describe('readClients', () => {
  test('returns no clients if the file does not exist', () => {
    expect(readClients(join(folder, 'other.json'))).toEqual({ clients: [] });
  });

  test('throws EditFault with the reason if the file is unreadable or invalid, and leaves the file unchanged', async () => {
    const spoilt = { name: 'EditFault', message: expect.any(String) };
    expect(() => readClients(folder)).toThrow(`The credentials file can’t be read (a folder): ${folder}`);
    writeFileSync(path, '{');
    const sentence = `The credentials file is not valid (it is not JSON). Correct it first: ${path}`;
    expect(() => readClients(path)).toThrow(sentence);
    const edited = await editClients(path, adding('own')).catch((error: unknown) => error);
    expect(edited).toMatchObject({ ...spoilt, message: sentence });
    expect(readdirSync(folder)).toEqual(['agents.json']);
    expect(readFileSync(path, 'utf8')).toBe('{');
  });
});

describe('clientsIfReadable', () => {
  test('returns the clients, or an empty list if the file is not set, missing, a folder or invalid', () => {
    writeFileSync(path, JSON.stringify({ clients: [client('own')] }));
    expect(clientsIfReadable(path).map(({ name }) => name)).toEqual(['own']);
    writeFileSync(join(folder, 'broken.json'), '{"clients": [{"label": "\u202e"}]}');
    const others = [undefined, folder, ...['missing.json', 'broken.json'].map((name) => join(folder, name))];
    expect(others.map(clientsIfReadable)).toEqual([[], [], [], []]);
  });
});

describe('isEditable', () => {
  test('is true for a file that this process may replace, also through a symbolic link', () => {
    const link = join(temporaryFolder(), 'link.json');
    symlinkSync(path, link);
    expect([path, link].map(isEditable)).toEqual([true, true]);
  });

  test('is false if the file is missing, its folder is read-only, or the permission model is on', () => {
    expect(isEditable(join(folder, 'missing.json'))).toBe(false);
    const { accessSync } = fs;
    before('accessSync', /./, () => {
      throw Object.assign(new Error('as the disk says it'), { code: 'EROFS' });
    });
    expect(isEditable(path)).toBe(false);
    fs.accessSync = accessSync;
    syncBuiltinESMExports();
    Object.defineProperty(process, 'permission', { configurable: true, value: { has: () => true } });
    expect(isEditable(path)).toBe(false);
    Reflect.deleteProperty(process, 'permission');
    expect(isEditable(path)).toBe(true);
  });

  test.runIf(process.getuid?.() === 0)(
    'is false for a file of another user, because an edit would change its owner',
    () => {
      const isEditableFor = (uid: number) => {
        const program = `import { isEditable } from ${JSON.stringify(resolve('src/credentials/edit.ts'))};
        process.setuid(${uid});
        console.log(isEditable(${JSON.stringify(path)}));`;
        return execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' }).trim();
      };
      chmodSync(folder, 0o777);
      chownSync(path, 4711, 4712);
      expect([0, 4711, 4713].map(isEditableFor)).toEqual(['true', 'true', 'false']);
      chmodSync(folder, 0o755);
      expect(isEditableFor(4711)).toBe('false');
    },
  );
});

describe('editClients, writing', () => {
  test('replaces the file with a formatted file of mode 0600, flushed to disk', async () => {
    const synced: string[] = [];
    fs.fsyncSync = (descriptor) => {
      synced.push(readFileSync(`/proc/self/fd/${descriptor}`, 'utf8'));
    };
    syncBuiltinESMExports();
    const { ino } = statSync(path);
    await editClients(path, adding('own'));
    const text = `${JSON.stringify({ clients: [client('own')] }, null, 2)}\n`;
    expect([readFileSync(path, 'utf8'), synced]).toEqual([text, [text]]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(path).ino).not.toBe(ino);
    expect(readdirSync(folder)).toEqual(['agents.json']);
    expect(openIn(folder)).toEqual([]);
  });

  test('creates missing folders with mode 0700', async () => {
    const deep = join(folder, 'new', 'secrets', 'agents.json');
    await editClients(deep, adding('own'));
    expect(names(deep)).toEqual(['own']);
    for (const made of [dirname(deep), join(folder, 'new')]) {
      expect(statSync(made).mode & 0o777).toBe(0o700);
    }
  });

  test('leaves the file unchanged if the edit returns undefined', async () => {
    const { ino } = statSync(path);
    await editClients(path, () => undefined);
    expect(statSync(path).ino).toBe(ino);
    expect(readdirSync(folder)).toEqual(['agents.json']);
  });

  test('writes to the target of a symbolic link, and keeps the link', async () => {
    const link = join(folder, 'link.json');
    symlinkSync(path, link);
    await editClients(link, adding('own'));
    expect([lstatSync(link).isSymbolicLink(), names()]).toEqual([true, ['own']]);
  });

  test.runIf(process.getuid?.() === 0)('keeps the owner of the file if root edits it', async () => {
    chownSync(path, 4711, 4712);
    await editClients(path, adding('own'));
    expect(statSync(path)).toMatchObject({ uid: 4711, gid: 4712, mode: 0o100600 });
  });

  test.each([
    ['the lock', 'writeFileSync', /\.lock$/, 'EROFS'],
    ['the content of the lock', 'writeFileSync', /\.lock$/, 'ENOSPC'],
    ['the new file', 'openSync', /\.tmp$/, 'ENOSPC'],
    ['the flush', 'fsyncSync', /./, 'EIO'],
  ] as const)(
    'if %s fails, throws EditFault with reason and folder, and leaves neither a lock nor a new file',
    async (_what, name, of, code) => {
      before(name, of, () => {
        // A full disk still creates the empty file.
        if (name === 'writeFileSync' && code === 'ENOSPC') real.writeFileSync(lock, '');
        throw Object.assign(new Error('as the disk says it'), { code });
      });
      await expect(editClients(path, adding('own'))).rejects.toMatchObject({
        name: 'EditFault',
        message: `The credentials file can’t be written (${code}). Check the permissions of ${folder}.`,
      });
      expect([names(), readdirSync(folder), openIn(folder)]).toEqual([[], ['agents.json'], []]);
    },
  );

  test('throws an error with the reason if the folder can’t be created', async () => {
    await expect(editClients(join(path, 'agents.json'), adding('own'))).rejects.toThrow(
      `The credentials file can’t be written (EEXIST). Check the permissions of ${path}.`,
    );
  });
});

describe('editClients, lock', () => {
  test('creates a lock with mode 0600 and a unique owner for each edit', async () => {
    const owners: string[] = [];
    for (const name of ['one', 'two']) {
      await editClients(path, (file) => {
        owners.push(readFileSync(lock, 'utf8'));
        expect(statSync(lock).mode & 0o777).toBe(0o600);
        return adding(name)(file);
      });
    }
    expect(new Set(owners).size).toBe(2);
    for (const owner of owners) expect(owner).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('waits two seconds for the lock of another process, then throws EditFault', async () => {
    vi.useFakeTimers({ now });
    writeFileSync(lock, 'another');
    utimesSync(lock, now, now);
    let told: unknown;
    const editing = editClients(path, adding('own')).catch((error: unknown) => {
      told = error;
    });
    await vi.advanceTimersByTimeAsync(LOCK_WAIT_MS - 1);
    expect(told).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    await editing;
    expect(told).toMatchObject({
      name: 'EditFault',
      message: `Another command is changing the credentials. Try again, or remove ${lock}.`,
    });
    expect(readFileSync(lock, 'utf8')).toBe('another');
    expect(names()).toEqual([]);
  });

  test('begins the edit once another process has removed its lock', async () => {
    vi.useFakeTimers({ now });
    writeFileSync(lock, 'another');
    utimesSync(lock, now, now);
    const editing = editClients(path, adding('own'));
    await vi.advanceTimersByTimeAsync(100);
    rmSync(lock);
    await vi.advanceTimersByTimeAsync(20);
    await editing;
    expect([names(), readdirSync(folder)]).toEqual([['own'], ['agents.json']]);
  });

  test.each([
    [STALE_LOCK_MS, 'waited for'],
    [STALE_LOCK_MS + 1, 'taken over'],
  ])('a lock of another process that is %i ms old is %s', async (age, what) => {
    vi.useFakeTimers({ now });
    writeFileSync(lock, 'another');
    const then = new Date(now.getTime() - age);
    utimesSync(lock, then, then);
    const editing = editClients(path, adding('own'));
    expect(readFileSync(lock, 'utf8') === 'another').toBe(what === 'waited for');
    await vi.advanceTimersByTimeAsync(100);
    await editing;
    expect(readdirSync(folder)).toEqual(['agents.json']);
  });

  test('waits while another process takes over a stale lock', async () => {
    vi.useFakeTimers({ now });
    const then = new Date(now.getTime() - 60_000);
    writeFileSync(lock, 'dead');
    utimesSync(lock, then, then);
    writeFileSync(`${lock}.dead`, '');
    const editing = editClients(path, adding('own'));
    await vi.advanceTimersByTimeAsync(100);
    expect(readFileSync(lock, 'utf8')).toBe('dead');
    rmSync(lock);
    rmSync(`${lock}.dead`);
    await vi.advanceTimersByTimeAsync(20);
    await editing;
    expect([names(), readdirSync(folder)]).toEqual([['own'], ['agents.json']]);
  });

  test.each(['readFileSync', 'statSync'] as const)(
    'tries again if another process removes the lock before the call of %s',
    async (look) => {
      writeFileSync(lock, 'another');
      utimesSync(lock, 0, 0);
      before(look, /\.lock$/, () => {
        if (names().length === 0) rmSync(lock, { force: true });
        Object.assign(fs, real);
        syncBuiltinESMExports();
      });
      await editClients(path, adding('own'));
      expect([names(), readdirSync(folder)]).toEqual([['own'], ['agents.json']]);
    },
  );

  test('throws if another process took over its lock meanwhile, even if the edit changes nothing', async () => {
    const heldUp = editClients(path, () => void writeFileSync(lock, 'another'));
    await expect(heldUp).rejects.toThrow(/^Another command took over the lock/);
    expect(readFileSync(lock, 'utf8')).toBe('another');
  });

  test.each<[string, string, () => void]>([
    ['can’t be read', 'EISDIR', () => mkdirSync(lock)],
    [
      'is stale and can’t be taken over',
      'ENOENT',
      () => {
        writeFileSync(lock, 'no/name');
        utimesSync(lock, 0, 0);
      },
    ],
  ])('throws at once if the lock %s', async (_what, code, spoil) => {
    spoil();
    await expect(editClients(path, adding('own'))).rejects.toThrow(
      `The credentials file can’t be written (${code}). Check the permissions of ${folder}.`,
    );
    expect(names()).toEqual([]);
  });
});

/** Returns the paths in a folder that this process has open. */
function openIn(of: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${descriptor}`);
      return target.startsWith(of) ? [target] : [];
    } catch {
      return [];
    }
  });
}
