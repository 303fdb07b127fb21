import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { freshAddress, type Service, startService } from '../support/service.ts';
import { exchange } from '../support/wire.ts';
import {
  cookieOf,
  isSignedIn,
  linkFor,
  OUR_PAGE,
  operatorWith,
  signIn,
  signInFor,
  startWithConsole,
} from './operator.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const clock = testClock();
let service: Service;
beforeAll(async () => {
  service = await startWithConsole({ clock });
});
afterAll(() => service.close());

const nobody = () => operatorWith(service, '');

describe('/operator/sign-in/:token (reference §12.2)', () => {
  test('shows the same page for every token, and the first click uses up the link', async () => {
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

  test('returns 403 with the command for a new link if the link is unknown or 15 minutes old', async () => {
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
    ['an unknown origin', {}],
    ['a signed program', { ...OUR_PAGE, 'signature-agent': '"https://agent.example"' }],
  ])('refuses a click from %s without using the link up', async (_from, headers) => {
    const path = await linkFor(service);
    const refused = await nobody().press(path, {}, { headers });
    expect([refused.status, refused.headers.get('set-cookie')]).toEqual([403, null]);
    expect((await nobody().press(path, {})).status).toBe(303);
  });

  test('returns 429 after twenty clicks a minute from one address, without using the link up', async () => {
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

  test('sets a new cookie at each sign-in, limited to this host and SameSite=Lax', async () => {
    const old = await signIn(service);
    const pressed = await operatorWith(service, old.cookie).press(await linkFor(service), {});
    expect(pressed.headers.get('set-cookie')).toMatch(
      /^operator=[\w-]{22}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax$/,
    );
    expect(cookieOf(pressed)).not.toBe(old.cookie);
    // The sign-in ends the earlier session of the same browser.
    expect(await isSignedIn(old)).toBe(false);
  });

  test('accepts the cookie beside the cookies of other programs, in any order', async () => {
    const { cookie } = await signIn(service);
    for (const cookies of [`a=b; ${cookie}`, `${cookie}; a=b`, `a=b;${cookie};c=d`]) {
      expect(await isSignedIn(operatorWith(service, cookies)), cookies).toBe(true);
    }
  });

  test('a cookie value that an attacker set beforehand is refused, also after a sign-in', async () => {
    const planted = `operator=${'A'.repeat(43)}`;
    const pressed = await operatorWith(service, planted).press(await linkFor(service), {});
    expect(cookieOf(pressed)).not.toBe(planted);
    expect(await isSignedIn(operatorWith(service, planted))).toBe(false);
    for (const both of [`${planted}; ${cookieOf(pressed)}`, `${cookieOf(pressed)}; ${planted}`]) {
      expect(await isSignedIn(operatorWith(service, both))).toBe(false);
    }
  });

  test('sets the __Host- prefix and Secure if BASE_URL uses https', async () => {
    const other = await startService({
      environment: { BASE_URL: 'https://paint.example', OPERATOR_CONSOLE: 'on' },
    });
    const there = { ...other, url: `http://127.0.0.1:${other.settings.port}` };
    const pressed = await operatorWith(there, '').press(await linkFor(other), {});
    expect(pressed.headers.get('set-cookie')).toMatch(/^__Host-operator=[^;]+; Path=\/;.*; Secure$/);
    const plain = cookieOf(pressed).replace('__Host-', '');
    expect(await isSignedIn(operatorWith(there, plain))).toBe(false);
    await other.close();
  });
});

describe('session', () => {
  test('expires 12 hours after its last request and 7 days after the sign-in', async () => {
    const idle = await signIn(service);
    const busy = await signIn(service);
    for (let hour = 0; hour < 7 * 24; hour += 6) {
      clock.advance(6 * HOUR_MS - 1_000);
      expect((await busy.get('/operator/audit')).status, `${hour}`).toBe(200);
      if (hour === 0) expect((await idle.get('/operator/audit')).status).toBe(200);
      if (hour === 18) expect(await isSignedIn(idle)).toBe(false);
    }
    clock.advance(60_000);
    expect(await isSignedIn(busy)).toBe(false);
  });

  test('after the sign-out, the cookie is refused for everybody who has it', async () => {
    const operator = await signIn(service);
    const out = await operator.press('/operator', { do: 'sign-out' });
    expect([out.status, out.headers.get('location')]).toEqual([303, '/operator']);
    expect(out.headers.get('set-cookie')).toMatch(/^operator=; .*Max-Age=0/);
    expect(await isSignedIn(operator)).toBe(false);
  });

  test('“Sign out everywhere” ends all sessions and unused links of one name, but not of other names', async () => {
    const [one, two, other] = [await signIn(service), await signIn(service), await signIn(service, 'Al')];
    const unused = await linkFor(service);
    const ofOther = await linkFor(service, 'Al');
    // The audit shows who else is signed in.
    expect((await one.get('/operator/audit')).text).toMatch(/<strong>Al<\/strong>.*since/);
    await one.press('/operator', { do: 'sign-out-everywhere' });
    expect(await Promise.all([one, two, other].map(isSignedIn))).toEqual([false, false, true]);
    expect((await nobody().press(unused, {})).status).toBe(403);
    expect((await nobody().press(ofOther, {})).status).toBe(303);
  });

  test('the store contains only digests of session and link tokens', async () => {
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

describe('order of checks (reference §12.4)', () => {
  const behind = [
    '',
    '/leads',
    '/leads.csv',
    '/subscribers.csv',
    '/leads/x',
    '/people/x',
    '/messages',
    '/audit',
    '/nowhere',
    '/a/b',
    '//',
  ];

  test('without a session, redirects every path below /operator and every method to the sign-in page', async () => {
    for (const cookie of ['', 'operator=x', `operator=${'A'.repeat(43)}`]) {
      for (const path of behind.map((each) => `/operator${each}`)) {
        for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
          const headers = { ...OUR_PAGE, ...(cookie && { cookie }) };
          const { status, headers: sent, text } = await call(service, path, { method, headers });
          const isRead = method === 'GET' || method === 'HEAD';
          const location = isRead ? signInFor(path) : '/operator/sign-in';
          expect([method, path, status, sent.get('location'), text]).toEqual([method, path, 303, location, '']);
          expect([sent.get('allow'), sent.get('cache-control'), sent.get('x-robots-tag')]).toEqual([
            null,
            'no-store',
            'noindex',
          ]);
        }
      }
    }
  });

  test('the redirect to the sign-in page contains the requested path and query, percent-encoded', async () => {
    for (const path of ['/operator/leads?q=Ada+L%C3%B6ve&a=%2F', '/operator/leads/', '/operator/%C3%B6']) {
      expect((await nobody().get(path)).headers.get('location')).toBe(signInFor(path));
    }
    const [reply] = await exchange(
      service.url,
      'GET http://evil.example/operator/audit?a=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    );
    expect([reply?.status, reply?.headers.location]).toEqual([303, signInFor('/operator/audit?a=1')]);
  });

  test('without a session, the sign-in pages do not redirect, and return 405 for a wrong method', async () => {
    for (const [path, allow] of [
      ['/operator/sign-in', 'GET, HEAD, POST'],
      ['/operator/sign-in/sent', 'GET, HEAD'],
      ['/operator/sign-in/x', 'GET, HEAD, POST'],
    ] as const) {
      expect((await nobody().get(path)).status, path).toBe(200);
      const wrong = await call(service, path, { method: 'PUT' });
      expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, allow]);
      const slash = await nobody().get(`${path}/`);
      expect([slash.status, slash.headers.get('location')]).toEqual([308, path]);
    }
  });

  test('with a session, returns 405 for a wrong method before the check of the origin', async () => {
    const operator = await signIn(service);
    const answer = await operator.press('/operator/leads', {}, { headers: {} });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  test('returns 403 for a click from another site and 400 for an unknown button, and changes nothing', async () => {
    const operator = await signIn(service);
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'null' }, {}]) {
      const answer = await operator.press('/operator', { do: 'sign-out' }, { headers });
      expect(answer.status).toBe(403);
    }
    const unknown = await operator.press('/operator', { do: 'other' });
    expect(unknown.status).toBe(400);
    expect(unknown.text).toContain('<summary><bdi>Jo</bdi></summary>');
    expect(unknown.text).toMatch(/<a class="button[^"]*" href="\/operator">/);
    expect((await operator.get('/operator/audit')).status).toBe(200);
  });

  test('returns 404 if the console is off, and does not start without https in production', async () => {
    const off = await startService();
    const paths = ['', '/', '/leads', '/nowhere', '/sign-in', '/sign-in/sent', '/sign-in/x'];
    for (const path of [...paths.map((each) => `/operator${each}`), '/assets/operator.css']) {
      expect((await operatorWith(off, '').get(path)).status, path).toBe(404);
      expect((await operatorWith(off, '').press(path, {})).status, path).toBe(404);
    }
    await off.close();
    await expect(startService({ environment: { OPERATOR_CONSOLE: 'on' } })).rejects.toThrow(
      'OPERATOR_CONSOLE needs a BASE_URL with https:// in production.',
    );
  });
});

test('every console page forbids caching, framing and indexing, and has a strict content security policy', async () => {
  const operator = await signIn(service);
  for (const path of [
    '/operator',
    '/operator/sign-in',
    '/operator/sign-in/sent',
    '/operator/sign-in/x',
    '/operator/audit',
  ]) {
    const { headers } = await operator.get(path);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-robots-tag')).toBe('noindex');
    expect(headers.get('referrer-policy')).toBe('same-origin');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  }
});
