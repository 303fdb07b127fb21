import { describe, expect, test } from 'vitest';
import { databases } from '../support/databases.ts';
import type { Service } from '../support/service.ts';
import { cookieOf, linkFor, operatorWith, startWithConsole } from './operator.ts';

describe.each(databases)('two instances over one %s', (_name, create) => {
  test('know the same links, sessions and ends of sessions', async () => {
    const database = await create();
    const environment = { DATABASE_URL: database.url };
    const one: Service = await startWithConsole({ environment });
    const two: Service = await startWithConsole({ environment });

    const path = await linkFor(one);
    const pressed = await Promise.all(
      [one, two, one, two].map((service) => operatorWith(service, '').press(path, {})),
    );
    expect(pressed.map(({ status }) => status).sort()).toEqual([303, 403, 403, 403]);
    const cookie = pressed.map(cookieOf).find((each) => each !== '') ?? '';
    for (const service of [one, two]) {
      expect((await operatorWith(service, cookie).get('/operator/audit')).status).toBe(200);
    }
    await operatorWith(two, cookie).press('/operator', { do: 'sign-out' });
    expect((await operatorWith(one, cookie).get('/operator/audit')).status).toBe(404);

    await Promise.all([one.close(), two.close()]);
    await database.remove();
  });
});
