/** Two concurrent edits, and a stale lock (reference §16.3). */
import { type ChildProcess, spawn } from 'node:child_process';
import fs, { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ClientsFile } from '../../src/credentials/clients.ts';
import { editClients, readClients } from '../../src/credentials/edit.ts';
import { temporaryFolder } from '../support/process.ts';

const source = resolve(import.meta.dirname, '../../src/credentials/edit.ts');
const longAgo = new Date('2026-01-01T00:00:00Z');
const { statSync } = fs;

let folder: string;
let path: string;

beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder, 'agents.json');
  writeFileSync(path, JSON.stringify({ clients: [] }));
});
afterEach(() => {
  fs.statSync = statSync;
  syncBuiltinESMExports();
});

const client = (name: string) => ({ name, scopes: [], credentials: [] });
const adding = (name: string) => (file: ClientsFile) => ({
  clients: [...file.clients, client(name)],
});
const names = () => readClients(path).clients.map(({ name }) => name);

/** Starts an edit in another process, which reports the lock by a file and waits for another file. */
function editElsewhere(name: string): { child: ChildProcess; ended: Promise<number | null> } {
  const program = `
    import { existsSync, writeFileSync } from 'node:fs';
    import { editClients } from ${JSON.stringify(source)};
    const nap = new Int32Array(new SharedArrayBuffer(4));
    await editClients(${JSON.stringify(path)}, (file) => {
      writeFileSync(${JSON.stringify(join(folder, 'held'))}, '');
      while (!existsSync(${JSON.stringify(join(folder, 'go'))})) Atomics.wait(nap, 0, 0, 5);
      return { clients: [...file.clients, ${JSON.stringify(client(name))}] };
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
  return { child, ended: new Promise((ended) => child.on('close', ended)) };
}

/** Blocks this process until the other one has the lock. */
function untilHeld(): void {
  const nap = new Int32Array(new SharedArrayBuffer(4));
  for (let tries = 0; !existsSync(join(folder, 'held')); tries += 1) {
    if (tries > 2_000) throw new Error('the other process never got the lock');
    Atomics.wait(nap, 0, 0, 5);
  }
}

test('editClients writes the edits of both processes if two processes find a stale lock', async () => {
  writeFileSync(`${path}.lock`, '');
  utimesSync(`${path}.lock`, longAgo, longAgo);
  let other: ReturnType<typeof editElsewhere> | undefined;
  fs.statSync = ((...given: Parameters<typeof statSync>) => {
    const seen = statSync(...given);
    if (given[0] === `${path}.lock` && other === undefined) {
      // The other process takes the stale lock over between this check and the next step.
      other = editElsewhere('other');
      untilHeld();
    }
    return seen;
  }) as typeof statSync;
  syncBuiltinESMExports();

  const own = editClients(path, adding('own'));
  writeFileSync(join(folder, 'go'), '');
  await own;
  expect(await other?.ended).toBe(0);
  expect(names().sort()).toEqual(['other', 'own']);
  expect(readdirSync(folder).sort()).toEqual(['agents.json', 'go', 'held']);
});

test('editClients takes over the lock of a process that died in its last step', async () => {
  for (const [file, text] of [
    [`${path}.lock`, 'owner'],
    [`${path}.lock.owner`, ''],
  ] as const) {
    writeFileSync(file, text);
    utimesSync(file, longAgo, longAgo);
  }
  await editClients(path, adding('own'));
  expect(names()).toEqual(['own']);
  expect(readdirSync(folder)).toEqual(['agents.json']);
});

test('editClients removes the new file that a killed process left beside the old one', async () => {
  writeFileSync(`${path}.lock`, 'the-dead');
  utimesSync(`${path}.lock`, longAgo, longAgo);
  writeFileSync(`${path}.the-dead.tmp`, '{}');
  await editClients(path, adding('own'));
  expect(names()).toEqual(['own']);
  expect(readdirSync(folder)).toEqual(['agents.json']);
});

test('editClients throws and changes nothing if another process took over its lock meanwhile', async () => {
  writeFileSync(join(folder, 'go'), '');
  const heldUp = editClients(path, (file) => {
    utimesSync(`${path}.lock`, longAgo, longAgo);
    editElsewhere('other');
    untilHeld();
    const nap = new Int32Array(new SharedArrayBuffer(4));
    // The other process renames its lock before it removes it.
    const isLocked = () => readdirSync(folder).some((name) => name.includes('.lock'));
    while (names().length === 0 || isLocked()) Atomics.wait(nap, 0, 0, 5);
    writeFileSync(`${path}.lock`, 'of a third one');
    return adding('own')(file);
  });
  await expect(heldUp).rejects.toThrow(
    'Another command took over the lock, so this command changed nothing. Try again.',
  );
  expect(names()).toEqual(['other']);
  expect(readdirSync(folder).sort()).toEqual(['agents.json', 'agents.json.lock', 'go', 'held']);
});

test('editClients calls beforeReplace while the old file and the complete new file exist', async () => {
  const texts: string[] = [];
  await editClients(path, adding('own'), async () => {
    const [beside = ''] = readdirSync(folder).filter((name) => name.endsWith('.tmp'));
    for (const name of ['agents.json', beside]) texts.push(readFileSync(join(folder, name), 'utf8'));
    expect(existsSync(`${path}.lock`)).toBe(true);
  });
  const [before, after] = texts.map((text) => JSON.parse(text));
  expect([before, after]).toEqual([{ clients: [] }, { clients: [client('own')] }]);
  expect(names()).toEqual(['own']);
});

test.each([
  ['an error without a code', new Error('no')],
  ['an error with a code', Object.assign(new Error('no'), { code: '53100' })],
])('editClients keeps the old file and removes the new one if beforeReplace throws %s', async (_what, error) => {
  const failing = editClients(path, adding('own'), () => Promise.reject(error));
  await expect(failing).rejects.toBe(error);
  expect([names(), readdirSync(folder)]).toEqual([[], ['agents.json']]);
  await editClients(
    path,
    () => undefined,
    () => expect.fail('nothing is replaced'),
  );
});

test('editClients removes its lock if the edit throws', async () => {
  const failing = editClients(path, () => {
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  await editClients(path, adding('next'));
  expect(readdirSync(folder)).toEqual(['agents.json']);
});
