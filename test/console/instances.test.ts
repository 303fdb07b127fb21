import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { copiesOf } from '../../src/storage/open.ts';
import { databases } from '../support/databases.ts';
import type { Service } from '../support/service.ts';
import { until } from '../support/until.ts';
import { cookieOf, isSignedIn, linkFor, operatorWith, signIn, startWithConsole } from './operator.ts';

describe.each(databases)('console, two instances on one %s', (_name, create) => {
  test('share links, sessions and sign-outs', async () => {
    const database = await create();
    const environment = { DATABASE_URL: database.url };
    const one: Service = await startWithConsole({ environment });
    const two: Service = await startWithConsole({ environment });

    const path = await linkFor(one);
    const pressed = await Promise.all([one, two, one, two].map((service) => operatorWith(service, '').press(path, {})));
    expect(pressed.map(({ status }) => status).sort()).toEqual([303, 403, 403, 403]);
    const cookie = pressed.map(cookieOf).find((each) => each !== '') ?? '';
    for (const service of [one, two]) {
      expect((await operatorWith(service, cookie).get('/operator/audit')).status).toBe(200);
    }
    await operatorWith(two, cookie).press('/operator', { do: 'sign-out' });
    expect(await isSignedIn(operatorWith(one, cookie))).toBe(false);

    await Promise.all([one.close(), two.close()]);
    await database.remove();
  });

  test('refuse the sessions and links of a backup after the backup is restored', async () => {
    const database = await create();
    const start = () => startWithConsole({ environment: { DATABASE_URL: database.url } });
    const place = database.url.replace(/^sqlite:/, '');
    const before = await start();
    const { copyTo, restoreFrom } = await copiesOf(before.parts.storage.kind);
    const { cookie, press } = await signIn(before);
    const unused = await linkFor(before);
    const file = join(before.folder, 'backup');
    await copyTo(file, place);
    await press('/operator', { do: 'sign-out-everywhere' });
    await before.parts.storage.close();
    // PostgreSQL ends a session after its connection, and until then refuses the restore.
    await expect.poll(() => restoreFrom(file, place).then(() => 'restored', String)).toBe('restored');
    await before.close();

    const after = await start();
    expect(await isSignedIn(operatorWith(after, cookie))).toBe(false);
    const pressed = await operatorWith(after, '').press(unused, {});
    expect([pressed.status, cookieOf(pressed)]).toEqual([403, '']);
    const again = await signIn(after);
    expect((await again.get('/operator/audit')).text).toContain('Jo');
    await after.close();
    await database.remove();
  });
});

describe.each(databases.filter(([name]) => name === 'PostgreSQL'))('console, on %s', (_name, create) => {
  test('“Sign out everywhere” also ends the session of a sign-in that runs at the same time', async () => {
    const database = await create();
    const service = await startWithConsole({ environment: { DATABASE_URL: database.url } });
    const operator = await signIn(service);
    const path = await linkFor(service);
    // A lock pauses the sign-in after it used its link and before it stores its session.
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(`
      create function paused() returns trigger language plpgsql as
        $$ begin perform pg_advisory_xact_lock(1); return new; end $$;
      create trigger paused before insert on operator_sessions
        for each row execute function paused();
      select pg_advisory_lock(1);`);
    const waiting = async () => {
      const { rows } = await client.query(
        `select 1 from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rows.length;
    };

    const signingIn = operatorWith(service, '').press(path, {});
    await until(async () => (await waiting()) === 1);
    let ended = false;
    const signingOut = operator.press('/operator', { do: 'sign-out-everywhere' }).finally(() => {
      ended = true;
    });
    await until(async () => ended || (await waiting()) === 2);
    await client.query('select pg_advisory_unlock(1)');
    const [signedIn, signedOut] = await Promise.all([signingIn, signingOut]);
    await client.end();

    expect([signedIn.status, signedOut.status]).toEqual([303, 303]);
    expect(await isSignedIn(operatorWith(service, cookieOf(signedIn)))).toBe(false);

    await service.close();
    await database.remove();
  });
});
