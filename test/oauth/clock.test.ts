/** The wall clock jumps while a host connects or an operator signs in (reference §26.6, §12.2). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cookieOf, isSignedIn, linkFor, operatorWith, startWithConsole } from '../console/operator.ts';
import { type TestClock, testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import type { Service } from '../support/service.ts';
import { codeFor, connect, openPage, press, refresh, returned, statusWith, useCode } from './rig.ts';

const HOUR_MS = 3_600_000;
const MONTH_MS = 30 * 24 * HOUR_MS;
const jumps = [
  { name: 'an hour ahead', ms: HOUR_MS },
  { name: 'an hour back', ms: -HOUR_MS },
  { name: 'a month ahead', ms: MONTH_MS },
  { name: 'a month back', ms: -MONTH_MS },
];

describe.each(databases)('wall clock that jumps, on %s', (_name, create) => {
  let database: TestDatabase;
  let service: Service;
  let clock: TestClock;
  beforeAll(async () => {
    [database, clock] = [await create(), testClock()];
    service = await startWithConsole({ clock, environment: { DATABASE_URL: database.url } });
  });
  afterAll(async () => {
    await service.close();
    await database.remove();
  });

  describe.each(jumps)('$name, and is corrected', ({ ms }) => {
    test('a consent is possible on a page from before the jump, and its code lives for 60 s', async () => {
      expect((await openPage(service)).status).toBe(200);
      clock.step(ms);
      const [used, late] = [returned(await press(service)).code ?? '', returned(await press(service)).code ?? ''];
      clock.advance(59_999);
      expect((await useCode(service, used)).status).toBe(200);
      clock.advance(1);
      expect((await useCode(service, late)).status).toBe(400);
      clock.step(-ms);
      expect((await useCode(service, late)).status).toBe(400);
    });

    test('a code from before the jump is refused, also after the correction', async () => {
      const code = await codeFor(service);
      clock.step(ms);
      expect((await useCode(service, code)).status).toBe(400);
      clock.step(-ms);
      expect((await useCode(service, code)).status).toBe(400);
    });

    test('an access token is refused on the other side of the jump and stays refused, and a refresh replaces it', async () => {
      const first = await connect(service);
      clock.step(ms);
      expect(await statusWith(service, first.access_token)).toBe(401);
      const second = (await refresh(service, first.refresh_token)).body;
      expect(await statusWith(service, second.access_token)).toBe(200);
      clock.step(-ms);
      expect(await statusWith(service, first.access_token)).toBe(401);
      expect(await statusWith(service, second.access_token)).toBe(401);
      const third = (await refresh(service, second.refresh_token)).body;
      expect(await statusWith(service, third.access_token)).toBe(200);
      clock.advance(HOUR_MS);
      expect(await statusWith(service, third.access_token)).toBe(401);
    });

    test('a refresh token that was used before the jump ends its family after the jump', async () => {
      const first = await connect(service);
      const second = (await refresh(service, first.refresh_token)).body;
      clock.step(ms);
      expect((await refresh(service, first.refresh_token)).status).toBe(400);
      clock.step(-ms);
      expect((await refresh(service, second.refresh_token)).status).toBe(400);
      expect(await statusWith(service, second.access_token)).toBe(401);
    });

    test('a sign-in link from before the jump signs nobody in, also after the correction', async () => {
      const [link, used] = [await linkFor(service), await linkFor(service)];
      const signIn = (path: string) => operatorWith(service, '').press(path, {});
      expect((await signIn(used)).status).toBe(303);
      clock.step(ms);
      expect([(await signIn(link)).status, (await signIn(used)).status]).toEqual([403, 403]);
      const fresh = await signIn(await linkFor(service));
      expect(await isSignedIn(operatorWith(service, cookieOf(fresh)))).toBe(true);
      clock.step(-ms);
      expect([(await signIn(link)).status, (await signIn(used)).status]).toEqual([403, 403]);
    });
  });

  test('a refresh token that was refused as too old stays refused, and its access token too', async () => {
    const { access_token, refresh_token } = await connect(service);
    clock.step(4 * MONTH_MS);
    expect((await refresh(service, refresh_token)).status).toBe(400);
    clock.step(-4 * MONTH_MS);
    expect((await refresh(service, refresh_token)).status).toBe(400);
    expect(await statusWith(service, access_token)).toBe(401);
  });

  test('clocks of two machines may differ by a minute', async () => {
    const [code, link, { access_token }] = [await codeFor(service), await linkFor(service), await connect(service)];
    clock.step(-60_000);
    expect((await useCode(service, code)).status).toBe(200);
    expect(await statusWith(service, access_token)).toBe(200);
    expect((await operatorWith(service, '').press(link, {})).status).toBe(303);
    clock.step(60_000);
  });
});
