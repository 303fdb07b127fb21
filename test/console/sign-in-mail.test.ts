/** Requests for a sign-in link, and the mail with it (reference §12.16). */
import { statSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type MailServer, startMailServer } from '../mail/mail-server.ts';
import { call } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { freshAddress, type Service } from '../support/service.ts';
import { exchange } from '../support/wire.ts';
import { cookieOf, isSignedIn, OUR_PAGE, operatorWith, startWithConsole } from './operator.ts';
import { AL, JO, mailed, mailedLink, queued, request, STRANGER, startWithOperators } from './sign-in-mail.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SENT = '/operator/sign-in/sent';

describe.each(databases)('sign-in by mail, on %s', (name, create) => {
  const clock = testClock();
  let refusal: { code: number; text: string } | undefined;
  let database: TestDatabase;
  let server: MailServer;
  let service: Service;
  beforeAll(async () => {
    database = await create();
    server = await startMailServer({ recipient: () => refusal });
    service = await startWithOperators(server, clock, { DATABASE_URL: database.url });
  });
  afterAll(async () => {
    await service.close();
    await server.close();
    await database.remove();
  });
  beforeEach(() => service.parts.storage.write(async (tx) => void (await tx.deleteFrom('messages').execute())));
  afterEach(() => {
    refusal = undefined;
  });

  const nobody = () => operatorWith(service, '');
  /** Moves the clock on. PostgreSQL's clock, which ends the pause after an attempt, does not move. */
  const pass = async (ms: number) => {
    clock.advance(ms);
    await service.parts.storage.write(async (tx) => {
      await tx.updateTable('messages').set({ attempt_started_ms: null }).execute();
    });
  };
  const rows = () => service.parts.storage.read((db) => db.selectFrom('messages').selectAll());

  describe('GET /operator/sign-in', () => {
    test.each([
      ['/operator/leads?q=Ada&status=waiting', '/operator/leads?q=Ada&amp;status=waiting'],
      ['https://evil.example/operator', '/operator'],
      ['//evil.example', '/operator'],
      ['/operator/leads.csv', '/operator'],
      ['"><script>', '/operator'],
    ])('shows the form, and for the page %j the hidden value %j', async (page, value) => {
      const { status, text } = await nobody().get(`/operator/sign-in?page=${encodeURIComponent(page)}`);
      expect(status).toBe(200);
      expect(text).toContain('<form class="sign-in" method="post" action="/operator/sign-in">');
      expect(text).toMatch(/<input id="email" name="email" [^>]*required>/);
      expect(text).toContain(`<input type="hidden" name="page" value="${value}">`);
      expect(text).toContain('<button class="button">E-mail me a link</button>');
      expect(text).not.toContain('npm run');
    });
  });

  describe('POST /operator/sign-in', () => {
    test.each([JO, ` ${JO.toUpperCase()}\t`, STRANGER, 'no address', '', `${'a'.repeat(3_000)}@x.example`])(
      'redirects to the same page for every typed address: %j',
      async (email) => {
        const answer = await request(service, email);
        expect([answer.status, answer.headers.get('location')]).toEqual([303, SENT]);
        const isOperator = email.trim().toLowerCase() === JO;
        expect((await rows()).map(({ address }) => address)).toEqual(isOperator ? [JO] : []);
      },
    );

    test.each(['', 'page=%2Foperator', `email=${JO}&email=${AL}`])(
      'redirects to the usual page and sends no mail for the form body %j',
      async (body) => {
        const headers = { ...OUR_PAGE, 'content-type': 'application/x-www-form-urlencoded' };
        const answer = await call(service, '/operator/sign-in', { headers, body });
        await queued(service);
        expect([answer.status, answer.headers.get('location'), await rows()]).toEqual([303, SENT, []]);
      },
    );

    test.each<[string, Record<string, string>]>([
      ['another site', { 'sec-fetch-site': 'cross-site', origin: 'http://127.0.0.1' }],
      ['a sibling of this host', { 'sec-fetch-site': 'same-site' }],
      ['another origin', { origin: 'https://evil.example' }],
      ['an unknown origin', {}],
      ['a signed program', { ...OUR_PAGE, 'signature-agent': '"https://agent.example"' }],
    ])('returns 403 for a request from %s, and sends no mail', async (_from, headers) => {
      const refused = await request(service, JO, '/operator', headers);
      expect([refused.status, await rows()]).toEqual([403, []]);
      expect(refused.text).toContain('<a class="button" href="/operator/sign-in">Open the page again</a>');
    });

    test.each([
      ['application/json', JSON.stringify({ email: JO })],
      ['text/plain', `email=${JO}`],
      [
        'multipart/form-data; boundary=x',
        `--x\r\nContent-Disposition: form-data; name="email"\r\n\r\n${JO}\r\n--x--\r\n`,
      ],
      ['application/x-www-form-urlencoded', `email=${JO}&x=${'a'.repeat(8_000)}`],
    ])('returns 400 for a body that is no form: %s', async (type, body) => {
      const answer = await call(service, '/operator/sign-in', { headers: { ...OUR_PAGE, 'content-type': type }, body });
      await queued(service);
      expect([answer.status, await rows()]).toEqual([400, []]);
    });

    test('returns 429 after ten requests in 15 minutes, without counting requests from other sites', async () => {
      const headers = { ...OUR_PAGE, 'x-forwarded-for': freshAddress() };
      for (let n = 0; n < 12; n += 1) {
        expect((await request(service, JO, '/operator', { ...headers, 'sec-fetch-site': 'cross-site' })).status).toBe(
          403,
        );
      }
      for (let n = 0; n < 10; n += 1) expect((await request(service, STRANGER, '/operator', headers)).status).toBe(303);
      const limited = await request(service, JO, '/operator', headers);
      expect([limited.status, limited.headers.get('retry-after'), await rows()]).toEqual([429, '900', []]);
      expect((await request(service, JO)).status).toBe(303);
      clock.advance(15 * MINUTE_MS);
      expect((await request(service, STRANGER, '/operator', headers)).status).toBe(303);
    });
  });

  describe('an answer', () => {
    /** Returns every byte of an answer, without the id and the date of the request. */
    const bytesFor = async (email: string) => {
      const body = new URLSearchParams({ email, page: '/operator/leads' }).toString();
      const head = [
        'POST /operator/sign-in HTTP/1.1',
        'Host: x',
        'Sec-Fetch-Site: same-origin',
        `X-Forwarded-For: ${freshAddress()}`,
        'Content-Type: application/x-www-form-urlencoded',
        `Content-Length: ${body.length}`,
        'Connection: close',
      ];
      const [reply] = await exchange(service.url, `${head.join('\r\n')}\r\n\r\n${body}`);
      await queued(service);
      const { 'x-request-id': _id, date: _date, ...headers } = reply?.headers ?? {};
      return JSON.stringify([reply?.status, Object.entries(headers), reply?.body]);
    };

    test('has the same bytes for an operator, a stranger, no address and an operator over the limit', async () => {
      const stranger = await bytesFor(STRANGER);
      expect(stranger).toContain(SENT);
      for (const email of [AL, 'no address', '', ...Array(6).fill(JO)]) expect(await bytesFor(email)).toBe(stranger);
      expect(await rows()).toHaveLength(6);
    });

    test.each([JO, STRANGER])('is sent before the store is written, for the address %s', async (email) => {
      const { storage } = service.parts;
      const { write } = storage;
      const gate = Promise.withResolvers<void>();
      let writes = 0;
      storage.write = async (change) => {
        writes += 1;
        await gate.promise;
        return await write(change);
      };
      const answer = await nobody().press('/operator/sign-in', { email });
      expect([answer.status, service.parts.background.all().length]).toEqual([303, 1]);
      gate.resolve();
      await queued(service);
      storage.write = write;
      expect([writes, (await rows()).length]).toEqual([1, email === JO ? 1 : 0]);
    });

    test('the mail is queued after the answer, even if the service stops meanwhile', async () => {
      const one = await startWithOperators(server, clock, { DATABASE_URL: database.url });
      const { storage } = one.parts;
      const { write } = storage;
      const gate = Promise.withResolvers<void>();
      storage.write = (change) => gate.promise.then(() => write(change));
      expect((await operatorWith(one, '').press('/operator/sign-in', { email: JO })).status).toBe(303);
      const closed = one.close();
      gate.resolve();
      await closed;
      expect(await rows()).toHaveLength(1);
    });

    test('is the same while the store is unavailable, and the log contains no address', async () => {
      const { storage } = service.parts;
      const { write } = storage;
      storage.write = () => Promise.reject(new Error('away'));
      expect((await request(service, JO)).status).toBe(303);
      storage.write = write;
      const line = service.logs.find((each) => each.includes('sign-in mail not queued')) ?? '';
      expect(JSON.parse(line).err.message).toBe('away');
      expect(service.logs.join('')).not.toContain(JO);
    });

    test.runIf(name === 'SQLite')('causes a commit for operators and for strangers', async () => {
      const wal = `${database.url.replace('sqlite:', '')}-wal`;
      const costs: number[] = [];
      for (const email of [JO, STRANGER, 'no address', ...Array(6).fill(JO)]) {
        const before = statSync(wal).size;
        await request(service, email);
        costs.push(statSync(wal).size - before);
      }
      expect(costs.filter((cost) => cost === 0)).toEqual([]);
    });
  });

  describe('the limit of five links an hour', () => {
    test('applies to each operator separately, for an hour', async () => {
      for (let n = 0; n < 7; n += 1) await request(service, JO);
      await request(service, AL);
      expect((await mailed(service, server)).map(({ to }) => to).sort()).toEqual([AL, ...Array(5).fill(JO)]);
      clock.advance(HOUR_MS - 1);
      await request(service, JO);
      expect(await mailed(service, server)).toEqual([]);
      clock.advance(1);
      await request(service, JO);
      expect(await mailed(service, server)).toHaveLength(1);
    });

    test('applies to concurrent requests to two instances', async () => {
      const other = await startWithOperators(server, clock, { DATABASE_URL: database.url });
      const requests = Array.from({ length: 30 }, (_, index) => request(index % 2 === 0 ? service : other, JO));
      expect(new Set((await Promise.all(requests)).map(({ status }) => status))).toEqual(new Set([303]));
      await Promise.all([queued(service), queued(other)]);
      expect(await rows()).toHaveLength(5);
      const sent = await Promise.all([mailed(service, server), mailed(other, server)]);
      expect(new Set(sent.flat().map(({ path }) => path)).size).toBe(5);
      await other.close();
    });

    test('counts mails that failed temporarily, and the next request sends them', async () => {
      refusal = { code: 451, text: '4.3.0 later' };
      for (let n = 0; n < 5; n += 1) await request(service, JO);
      expect(await mailed(service, server)).toEqual([]);
      for (const wait of [1, 5, 30]) {
        await pass(wait * MINUTE_MS);
        await mailed(service, server);
      }
      // The next attempt would come two hours after this one.
      await pass(HOUR_MS);
      refusal = undefined;
      expect(await mailed(service, server)).toEqual([]);
      await request(service, JO);
      expect(await mailed(service, server)).toHaveLength(5);
    });

    test('a request does not repeat a failed attempt to send within five minutes', async () => {
      refusal = { code: 451, text: '4.3.0 later' };
      for (let n = 0; n < 5; n += 1) await request(service, JO);
      await mailed(service, server);
      await pass(MINUTE_MS);
      await mailed(service, server);
      await pass(4 * MINUTE_MS);
      await request(service, JO);
      expect((await rows()).map(({ attempts }) => attempts)).toEqual(Array(5).fill(2));
      refusal = undefined;
      expect(await mailed(service, server)).toEqual([]);
    });
  });

  describe('the mail', () => {
    test('contains one link, whose page changes nothing and whose button signs the operator in once', async () => {
      await request(service, `Jo@Paint.example`);
      const [mail] = await mailed(service, server);
      expect(mail?.to).toBe(JO);
      expect(mail?.text).toMatch(/^Subject: Sign in to Paint Match\r$/m);
      expect(mail?.text).toMatch(/^Auto-Submitted: auto-generated\r$/m);
      const [, text] = /\r\n\r\n(.*)$/s.exec(mail?.text ?? '') ?? [];
      expect(text?.replaceAll('=E2=80=9C', '“').replaceAll('=E2=80=9D', '”').trim().split(/\r?\n/)).toEqual([
        'Open this link and click “Sign in”:',
        '',
        `${service.url}${mail?.path}`,
        '',
        'It works once, within 15 minutes.',
        '',
        'If you did not request this link, ignore this e-mail. Nobody can sign in without the link.',
        '',
        'Paint Match',
      ]);
      const path = mail?.path ?? '';
      expect(path).toMatch(/^\/operator\/sign-in\/[\w-]{22}$/);
      for (const method of ['GET', 'HEAD', 'GET']) expect((await call(service, path, { method })).status).toBe(200);
      const page = await nobody().get(path);
      expect(page.text.match(/<button/g)).toHaveLength(1);
      const pressed = await nobody().press(path, {});
      expect([pressed.status, pressed.headers.get('location')]).toEqual([303, '/operator']);
      expect(await isSignedIn(operatorWith(service, cookieOf(pressed)))).toBe(true);
      const replayed = await nobody().press(path, {});
      expect([replayed.status, cookieOf(replayed)]).toEqual([403, '']);
      expect(replayed.text).toContain('href="/operator/sign-in"');
    });

    test('has a link whose 15 minutes begin when the mail is rendered', async () => {
      await request(service, JO);
      clock.advance(40 * MINUTE_MS);
      const [mail] = await mailed(service, server);
      clock.advance(15 * MINUTE_MS - 1);
      expect((await nobody().press(mail?.path ?? '', {})).status).toBe(303);
      const late = await mailedLink(service, server);
      clock.advance(15 * MINUTE_MS);
      expect((await nobody().press(late, {})).status).toBe(403);
    });

    test('is sent before newsletter mail, and counts towards MAIL_PER_MINUTE', async () => {
      const one = await startWithOperators(server, clock, { DATABASE_URL: database.url, MAIL_PER_MINUTE: '2' });
      clock.advance(2 * MINUTE_MS);
      const { storage, outbox } = one.parts;
      await storage.write(outbox?.messageTo('ada@example.com') ?? expect.fail());
      for (let n = 0; n < 3; n += 1) await request(one, JO);
      const at = server.offered.length;
      await outbox?.work();
      expect(server.offered.slice(at)).toEqual([JO, JO]);
      clock.advance(MINUTE_MS);
      await outbox?.work();
      expect(server.offered.slice(at)[2]).toBe(JO);
      await one.close();
    });

    test('has a new link at each attempt to send, and the earlier link stops working', async () => {
      let drop = true;
      const dropping = await startMailServer({ data: () => (drop ? 'drop' : undefined) });
      const one = await startWithOperators(dropping, clock, { DATABASE_URL: database.url });
      await request(one, JO);
      const [first] = await mailed(one, dropping);
      expect((await rows())[0]).toMatchObject({ status: 'pending', attempts: 1 });
      drop = false;
      await pass(MINUTE_MS);
      const [second] = await mailed(one, dropping);
      expect(second?.path).not.toBe(first?.path);
      expect((await nobody().press(first?.path ?? '', {})).status).toBe(403);
      expect((await nobody().press(second?.path ?? '', {})).status).toBe(303);
      await one.close();
      await dropping.close();
    });

    test('is not sent again if the link of an earlier attempt was used', async () => {
      const dropping = await startMailServer({ data: () => 'drop' });
      const one = await startWithOperators(dropping, clock, { DATABASE_URL: database.url });
      await request(one, JO);
      const [first] = await mailed(one, dropping);
      const pressed = await nobody().press(first?.path ?? '', {});
      await pass(MINUTE_MS);
      expect(await mailed(one, dropping)).toEqual([]);
      expect((await rows())[0]).toMatchObject({ status: 'sent' });
      expect(await isSignedIn(operatorWith(one, cookieOf(pressed)))).toBe(true);
      await one.close();
      await dropping.close();
    });

    test('leaves no token in the database and the log', async () => {
      const path = await mailedLink(service, server);
      const token = path.split('/').at(-1) ?? '';
      const links = await service.parts.storage.read((db) => db.selectFrom('operator_links').selectAll());
      expect(links.length).toBeGreaterThan(0);
      const stored = JSON.stringify([links, await rows()]) + service.logs.join('');
      expect([stored.includes(token), service.logs.join('').includes(JO)]).toEqual([false, false]);
    });
  });
});

describe('without OPERATORS', () => {
  test('the sign-in page shows the command for a link, and a request gets the usual answer without a mail', async () => {
    const service = await startWithConsole();
    const page = await operatorWith(service, '').get('/operator/sign-in?page=%2Foperator%2Fleads');
    expect([page.status, page.text.includes('<form')]).toEqual([200, false]);
    expect(page.text).toContain('npm run operator -- link');
    const answer = await request(service, JO);
    expect([answer.status, answer.headers.get('location')]).toEqual([303, SENT]);
    expect(await service.parts.storage.read((db) => db.selectFrom('messages').selectAll())).toEqual([]);
    expect((await operatorWith(service, '').get('/operator')).headers.get('location')).toContain('/operator/sign-in?');
    await service.close();
  });
});
