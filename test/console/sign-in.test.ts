import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { freshAddress, type Service, startService } from '../support/service.ts';
import { cookieOf, linkFor, OUR_PAGE, operatorWith, signIn, startWithConsole } from './operator.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const clock = testClock();
let service: Service;
beforeAll(async () => {
  service = await startWithConsole({ clock });
});
afterAll(() => service.close());

const nobody = () => operatorWith(service, '');

describe('signing in (beyond §7)', () => {
  test('GET of any token shows the same button and uses nothing up; the press signs in, once', async () => {
    const path = await linkFor(service);
    const made = await nobody().get(path);
    const guessed = await nobody().get(path.replace(/[^/]+$/, 'A'.repeat(43)));
    expect([made.status, guessed.status]).toEqual([200, 200]);
    const plain = (text: string) => text.replaceAll(/\/operator\/sign-in\/[\w-]+/g, '');
    expect(plain(made.text)).toBe(plain(guessed.text));

    const pressed = await nobody().press(path, {});
    expect([pressed.status, pressed.headers.get('location')]).toEqual([303, '/operator']);
    const page = await operatorWith(service, cookieOf(pressed)).get('/operator');
    expect(page.text).toContain('Sign out everywhere');

    const again = await nobody().press(path, {});
    expect([again.status, again.headers.get('set-cookie')]).toEqual([403, null]);
    expect(again.text).toContain('npm run operator -- link');
  });

  test('an unknown link and one of 15 minutes are refused with the command', async () => {
    const path = await linkFor(service);
    const unknown = await nobody().press(path.replace(/[^/]+$/, 'no-token'), {});
    clock.advance(15 * MINUTE_MS);
    for (const answer of [unknown, await nobody().press(path, {})]) {
      expect(answer.status).toBe(403);
      expect(answer.text).toContain('npm run operator -- link');
    }
  });

  test.each<[string, Record<string, string>]>([
    ['another site', { 'sec-fetch-site': 'cross-site', origin: 'http://127.0.0.1' }],
    ['a sibling of this host', { 'sec-fetch-site': 'same-site' }],
    ['another origin', { origin: 'https://evil.example' }],
    ['nowhere', {}],
    ['a signed program', { ...OUR_PAGE, 'signature-agent': '"https://agent.example"' }],
  ])('a press from %s is refused, and uses nothing up', async (_from, headers) => {
    const path = await linkFor(service);
    const refused = await nobody().press(path, {}, { headers });
    expect([refused.status, refused.headers.get('set-cookie')]).toEqual([403, null]);
    expect((await nobody().press(path, {})).status).toBe(303);
  });

  test('twenty presses a minute for a client address; the one over it uses nothing up', async () => {
    const path = await linkFor(service);
    const headers = { ...OUR_PAGE, 'x-forwarded-for': freshAddress() };
    const wrong = path.replace(/[^/]+$/, 'A'.repeat(43));
    for (let n = 0; n < 20; n += 1) {
      expect((await nobody().press(wrong, {}, { headers })).status).toBe(403);
    }
    const limited = await nobody().press(path, {}, { headers });
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '60']);
    expect((await nobody().press(path, {})).status).toBe(303);
  });

  test('the cookie is for this host and its requests alone, and new each time', async () => {
    const old = await signIn(service);
    const pressed = await operatorWith(service, old.cookie).press(await linkFor(service), {});
    expect(pressed.headers.get('set-cookie')).toMatch(
      /^operator=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/,
    );
    expect(cookieOf(pressed)).not.toBe(old.cookie);
    // Whoever was signed in on that browser is so no longer.
    expect((await old.get('/operator/leads')).status).toBe(404);
  });

  test('a value that somebody else has put into the browser signs in nobody, before or after', async () => {
    const planted = `operator=${'A'.repeat(43)}`;
    const pressed = await operatorWith(service, planted).press(await linkFor(service), {});
    expect(cookieOf(pressed)).not.toBe(planted);
    expect((await operatorWith(service, planted).get('/operator/audit')).status).toBe(404);
    const both = operatorWith(service, `${planted}; ${cookieOf(pressed)}`);
    expect((await both.get('/operator/audit')).status).toBe(404);
  });

  test('on https it has the prefix that keeps others from setting it, and Secure', async () => {
    const other = await startService({
      environment: { BASE_URL: 'https://paint.example', OPERATOR_CONSOLE: 'on' },
    });
    const there = { ...other, url: `http://127.0.0.1:${other.settings.port}` };
    const pressed = await operatorWith(there, '').press(await linkFor(other), {});
    expect(pressed.headers.get('set-cookie')).toMatch(
      /^__Host-operator=[^;]+; Path=\/;.*; Secure$/,
    );
    const plain = cookieOf(pressed).replace('__Host-', '');
    expect((await operatorWith(there, plain).get('/operator/audit')).status).toBe(404);
    await other.close();
  });
});

describe('a session', () => {
  test('ends 12 hours after its last request, and 7 days after it began', async () => {
    const idle = await signIn(service);
    const busy = await signIn(service);
    for (let hour = 0; hour < 7 * 24; hour += 6) {
      clock.advance(6 * HOUR_MS - 1_000);
      expect((await busy.get('/operator/audit')).status, `${hour}`).toBe(200);
      if (hour === 0) expect((await idle.get('/operator/audit')).status).toBe(200);
      if (hour === 18) expect((await idle.get('/operator/audit')).status).toBe(404);
    }
    clock.advance(60_000);
    expect((await busy.get('/operator/audit')).status).toBe(404);
  });

  test('is over once it is signed out, whoever has its cookie', async () => {
    const operator = await signIn(service);
    const out = await operator.press('/operator', { do: 'sign-out' });
    expect([out.status, out.headers.get('location')]).toEqual([303, '/operator']);
    expect(out.headers.get('set-cookie')).toContain('Max-Age=0');
    expect((await operator.get('/operator/leads')).status).toBe(404);
    expect((await operator.get('/operator')).text).toContain('npm run operator -- link');
  });

  test('everywhere: all of that name, unused links as well, and nobody else', async () => {
    const [one, two, other] = [
      await signIn(service),
      await signIn(service),
      await signIn(service, 'Al'),
    ];
    const unused = await linkFor(service);
    const ofOther = await linkFor(service, 'Al');
    // Each can see who else is signed in.
    expect((await one.get('/operator/audit')).text).toMatch(/<strong>Al<\/strong>.*since/);
    await one.press('/operator', { do: 'sign-out-everywhere' });
    expect((await one.get('/operator/leads')).status).toBe(404);
    expect((await two.get('/operator/leads')).status).toBe(404);
    expect((await other.get('/operator/audit')).status).toBe(200);
    expect((await nobody().press(unused, {})).status).toBe(403);
    expect((await nobody().press(ofOther, {})).status).toBe(303);
  });

  test('keeps no token: rows hold digests', async () => {
    const operator = await signIn(service);
    const path = await linkFor(service);
    const rows = await Promise.all([
      service.parts.storage.read((db) => db.selectFrom('operator_sessions').selectAll()),
      service.parts.storage.read((db) => db.selectFrom('operator_links').selectAll()),
    ]);
    const kept = JSON.stringify(rows) + service.logs.join('');
    expect(kept).not.toContain(operator.cookie.split('=')[1]);
    expect(kept).not.toContain(path.split('/').at(-1));
  });
});

describe('the order of what is looked at (beyond §7)', () => {
  const behind = [
    '/leads',
    '/leads.csv',
    '/leads/x',
    '/people/x',
    '/messages',
    '/audit',
    '/agents',
  ];

  test('without a session there is nothing below /operator, whatever the method', async () => {
    for (const path of behind) {
      for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
        const answer = await call(service, `/operator${path}`, { method, headers: OUR_PAGE });
        expect([method, path, answer.status, answer.headers.get('allow')]).toEqual([
          method,
          path,
          404,
          null,
        ]);
      }
    }
    const [there, nowhere] = await Promise.all(
      ['/operator/leads', '/operator/nowhere'].map((path) => nobody().get(path)),
    );
    expect(there?.text).toBe(nowhere?.text);
  });

  test('with one, another method is 405 before anything else is asked', async () => {
    const operator = await signIn(service);
    const answer = await operator.press('/operator/leads', {}, { headers: {} });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  test('a press from another site changes nothing', async () => {
    const operator = await signIn(service);
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'null' }, {}]) {
      const answer = await operator.press('/operator', { do: 'sign-out' }, { headers });
      expect(answer.status).toBe(403);
    }
    expect((await operator.press('/operator', { do: 'other' })).status).toBe(400);
    expect((await operator.get('/operator/audit')).status).toBe(200);
  });

  test('where it is off there is nothing, and in production it wants https', async () => {
    const off = await startService();
    for (const path of ['/operator', '/operator/sign-in/x', '/assets/operator.css']) {
      expect((await operatorWith(off, '').get(path)).status).toBe(404);
    }
    await off.close();
    await expect(startService({ environment: { OPERATOR_CONSOLE: 'on' } })).rejects.toThrow(
      'OPERATOR_CONSOLE needs a BASE_URL with https:// in production.',
    );
  });
});

test('no page of it may be kept, framed or listed, and each has the strict policy', async () => {
  const operator = await signIn(service);
  for (const path of ['/operator', '/operator/sign-in/x', '/operator/audit']) {
    const { headers } = await operator.get(path);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-robots-tag')).toBe('noindex');
    expect(headers.get('referrer-policy')).toBe('same-origin');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  }
});
