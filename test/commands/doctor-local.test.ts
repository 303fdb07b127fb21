/** The doctor's checks of this machine, with the words of a good result. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Check } from '../../src/commands/doctor/check.ts';
import { signingKeys } from '../../src/commands/doctor/key-checks.ts';
import { dataFolder, wallClock } from '../../src/commands/doctor/local-checks.ts';
import { readSettings } from '../../src/settings/settings.ts';
import { testClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/process.ts';

const key = (letter: string) => Buffer.alloc(32, letter).toString('base64');

/** Returns the result of a check in a new data folder, and the folder. */
async function resultOf(check: Check, environment: Record<string, string> = {}) {
  const DATA_DIR = join(temporaryFolder(), 'data');
  const read = readSettings({ DATA_DIR, ...environment });
  if (read.kind === 'invalid') throw new Error(read.faults.join('\n'));
  const context = { settings: read.settings, clock: testClock(), send: false, mailTo: undefined, findings: [] };
  return { folder: DATA_DIR, result: await check.run(context) };
}

test('the data folder is made only for its owner, and is good if a file can be written', async () => {
  const { folder, result } = await resultOf(dataFolder);
  expect(result).toEqual({ outcome: 'ok', says: `${folder} is writable.` });
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

test('the data folder is off in production with PostgreSQL', async () => {
  const { result } = await resultOf(dataFolder, {
    NODE_ENV: 'production',
    BASE_URL: 'https://paint.example',
    DATABASE_URL: 'postgres://127.0.0.1/none',
  });
  expect(result).toEqual({ outcome: 'off', says: 'The service stores nothing in DATA_DIR.' });
});

test('the clock is wrong before 2026', async () => {
  const context = { send: false, mailTo: undefined, findings: [] };
  const read = readSettings({ DATA_DIR: temporaryFolder() });
  if (read.kind === 'invalid') throw new Error(read.faults.join('\n'));
  const at = (now: string) => wallClock.run({ ...context, settings: read.settings, clock: testClock(now) });
  const time = '2025-12-31T23:59:59.999Z';
  expect(await at(time)).toEqual({ outcome: 'failed', says: `The time is ${time}.` });
  expect(await at('2026-01-01T00:00:00.000Z')).toMatchObject({ outcome: 'ok' });
});

test.each([
  [{ PREVIEW_SIGNING_KEYS: key('a') }, '1 key.'],
  [{ PREVIEW_SIGNING_KEYS: `${key('a')},${key('b')}` }, '2 keys. The first key signs, and all keys verify.'],
  [{}, 'The first start creates a key.'],
])('the keys of previews in %j are good: %s', async (environment, says) => {
  expect((await resultOf(signingKeys, environment)).result).toEqual({ outcome: 'ok', says });
});
