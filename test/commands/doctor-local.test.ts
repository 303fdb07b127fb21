/** The doctor's checks of this machine: folder, database, keys, credentials and clock (reference §13.3). */
import { existsSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { credentials, receiptKeys, signingKeys } from '../../src/commands/doctor/key-checks.ts';
import { database, dataFolder, wallClock } from '../../src/commands/doctor/local-checks.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { clientOf } from '../credentials/credentials-file.ts';
import { testClock } from '../support/clock.ts';
import { databases } from '../support/databases.ts';
import { atEndOfFile } from '../support/leftovers.ts';
import { examine } from './examine.ts';
import { temporaryFolder } from './run-service.ts';

const key = (letter: string) => Buffer.alloc(32, letter).toString('base64');

const production = { NODE_ENV: 'production', BASE_URL: 'https://paint.example' };

describe('doctor, data folder', () => {
  test('is made only for its owner, and is good if a file can be written', async () => {
    const folder = join(temporaryFolder(), 'data');
    expect(await examine({ DATA_DIR: folder }, [dataFolder])).toEqual([
      { outcome: 'ok', told: `${folder} is writable.` },
    ]);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  test('fails if no file can be written', async () => {
    expect(await examine({ DATA_DIR: '/proc/self' }, [dataFolder])).toEqual([
      {
        outcome: 'failed',
        told: 'This check failed (ENOENT). Change the permissions of /proc/self, or set DATA_DIR to a folder that you own.',
      },
    ]);
  });

  test('is off in production with PostgreSQL only', async () => {
    const DATABASE_URL = 'postgres://127.0.0.1/none';
    const folder = { ...production, DATABASE_URL };
    expect(await examine(folder, [dataFolder])).toEqual([
      { outcome: 'off', told: 'The service stores nothing in DATA_DIR.' },
    ]);
    for (const environment of [{ DATABASE_URL }, production]) {
      expect(await examine(environment, [dataFolder])).toMatchObject([{ outcome: 'ok' }]);
    }
  });
});

describe('doctor, database', () => {
  /** Creates the database of a new data folder, and changes it with a statement. */
  async function databaseWith(statement: string) {
    const DATA_DIR = temporaryFolder();
    const path = join(DATA_DIR, 'service.db');
    await (await openSqlite(path, systemClock)).close();
    const changed = new DatabaseSync(path);
    changed.exec(statement);
    changed.close();
    return { DATA_DIR };
  }

  test.each(databases)('%s is readable and writable', async (name, create) => {
    const { url, open, remove } = await create();
    atEndOfFile(remove);
    await (await open(systemClock)).close();
    expect(await examine({ DATABASE_URL: url }, [database])).toEqual([
      { outcome: 'ok', told: `${name} is readable and writable.` },
    ]);
  });

  test('is not created if there is none, and its path is named', async () => {
    const DATA_DIR = join(temporaryFolder(), 'a/b');
    const path = join(DATA_DIR, 'service.db');
    const told = `There is no database yet at ${path}. The first start creates it.`;
    expect(await examine({ DATA_DIR }, [database])).toEqual([{ outcome: 'ok', told }]);
    expect(existsSync(path)).toBe(false);
  });

  test('can’t be created in a folder that can’t be written', async () => {
    expect(await examine({ DATABASE_URL: 'sqlite:/proc/nowhere/service.db' }, [database])).toEqual([
      {
        outcome: 'failed',
        told: 'This check failed (ENOENT). Check DATABASE_URL, DATA_DIR and the free space of the disk.',
      },
    ]);
  });

  test('fails if it refuses a write', async () => {
    const trigger = "create trigger refuse before insert on scrub_requests begin select raise(fail, 'canary'); end";
    expect(await examine(await databaseWith(trigger), [database])).toMatchObject([{ outcome: 'failed' }]);
  });

  test('fails at the check that misses a table, though it takes a write', async () => {
    const environment = await databaseWith('drop table executions');
    expect(await examine(environment, [database, receiptKeys])).toMatchObject([
      { outcome: 'ok' },
      { outcome: 'failed', told: expect.stringContaining(' Check the database, and the permissions of ') },
    ]);
  });

  test.runIf(databases.length > 1)('has a search_path of PostgreSQL whose schema does not exist', async () => {
    const postgres = await (databases[1]?.[1] ?? expect.fail())();
    atEndOfFile(postgres.remove);
    const url = new URL(postgres.url);
    url.searchParams.set('options', '-c search_path=leads');
    const [finding] = await examine({ DATABASE_URL: url.href }, [database]);
    expect(finding?.outcome).toBe('failed');
    expect(finding?.told).toMatch(/^PostgreSQL can’t be used\. No schema of the search_path exists .*create schema/);
  });
});

describe('doctor, clock', () => {
  const noUpstream = 'There is no upstream time to compare with';

  test('is wrong before 2026', async () => {
    const at = (now: string) => examine({}, [wallClock], { clock: testClock(now) });
    const time = '2025-12-31T23:59:59.999Z';
    expect((await at(time))[0]).toMatchObject({
      outcome: 'failed',
      told: expect.stringMatching(`^The time is ${time}\\. Set the clock`),
    });
    const next = '2026-01-01T00:00:00.000Z';
    expect(await at(next)).toEqual([{ outcome: 'ok', told: `The time is ${next}. ${noUpstream}.` }]);
  });

  test.each([
    [60_000, 'ok', `${noUpstream}, and no file in FOLDER has a later time.`],
    [61_000, 'failed', 'A file in FOLDER has a later time.'],
  ])('is compared with a file that is %i ms newer: %s', async (ms, outcome, words) => {
    const DATA_DIR = temporaryFolder();
    for (const [name, seconds] of Object.entries({ first: 0, second: ms / 1_000, third: 0 })) {
      writeFileSync(join(DATA_DIR, name), '');
      const time = Date.parse('2026-09-01T12:00:00.000Z') / 1_000 + seconds;
      utimesSync(join(DATA_DIR, name), time, time);
    }
    symlinkSync('nowhere', join(DATA_DIR, 'link'));
    const [clock] = await examine({ DATA_DIR }, [wallClock], { clock: testClock('2026-09-01T12:00:00.000Z') });
    expect(clock?.outcome).toBe(outcome);
    expect(clock?.told.replaceAll(DATA_DIR, 'FOLDER')).toContain(`The time is 2026-09-01T12:00:00.000Z. ${words}`);
  });
});

describe('doctor, keys of previews', () => {
  test.each([
    [{ PREVIEW_SIGNING_KEYS: key('a') }, '1 key.'],
    [{ PREVIEW_SIGNING_KEYS: `${key('a')},${key('b')}` }, '2 keys. The first key signs, and all keys verify.'],
    [{}, 'The first start creates a key.'],
  ])('in %j are good: %s', async (environment, told) => {
    expect(await examine(environment, [signingKeys])).toEqual([{ outcome: 'ok', told }]);
  });
});

describe('doctor, credentials', () => {
  const fileWith = (content: string) => {
    const AGENT_CREDENTIALS_FILE = join(temporaryFolder(), 'agents.json');
    writeFileSync(AGENT_CREDENTIALS_FILE, content, { mode: 0o600 });
    return { AGENT_CREDENTIALS_FILE };
  };
  const CHECK = 'Check AGENT_CREDENTIALS_FILE, its path and its permissions.';

  test('are counted, and give a warning if one has expired', async () => {
    const old = clientOf('acme', ['x', 'y'], [], '2021-01-01T00:00:00.000Z');
    const clients = [old, clientOf('other', ['z'])];
    const expired = old.credentials.map(({ id }) => `${id} of acme`).join(', ');
    expect(await examine(fileWith(JSON.stringify({ clients })), [credentials])).toEqual([
      {
        outcome: 'warning',
        told: `2 clients. Expired: ${expired}. Run: npm run credentials -- rotate NAME, or: revoke NAME --credential ID`,
      },
    ]);
  });

  test.each([{}, production])('have a file that is missing, with the settings %j', async (environment) => {
    const DATA_DIR = temporaryFolder();
    const AGENT_CREDENTIALS_FILE = join(environment === production ? DATA_DIR : temporaryFolder(), 'agents.json');
    expect(await examine({ ...environment, DATA_DIR, AGENT_CREDENTIALS_FILE }, [credentials])).toEqual([
      { outcome: 'failed', told: `This check failed (ENOENT). ${CHECK}` },
    ]);
  });

  test('have a file that is not valid', async () => {
    expect(await examine(fileWith('{"clients": 3}'), [credentials])).toEqual([
      { outcome: 'failed', told: `The file is not valid (clients: must be array). ${CHECK}` },
    ]);
  });
});
