/** The page of a confirmation and its buttons: conditions of a click, refusals, codes, attacks (reference §6.8). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type MailServer, startMailServer } from '../mail/mail-server.ts';
import { call } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { credentials, freshAddress, type Service, startService, tokens } from '../support/service.ts';
import { until } from '../support/until.ts';
import { lookAt, mailedCode, openPage, pending, pressButton, tokenIn, wrongOf } from './rig.ts';

let mail: MailServer;
let service: Service;
const clock = testClock();
beforeAll(async () => {
  mail = await startMailServer();
  service = await startService({ clock, environment: { SMTP_URL: mail.url } });
});
afterAll(async () => {
  await service.close();
  await mail.close();
});

const statusOf = async (id: string) => (await lookAt(service, id)).body.confirmation.status;

describe('GET /confirm/:secret', () => {
  test('shows the client, the recipient and the values with no-store, noindex and no inline script', async () => {
    const { path } = await pending(service);
    const { status, headers, text } = await openPage(service, path);
    expect([status, headers.get('cache-control'), headers.get('x-robots-tag')]).toEqual([200, 'no-store', 'noindex']);
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    for (const words of ['acme', 'Vetted Painters', 'Ada Lovelace', 'ada@example.com', '94110']) {
      expect(text).toContain(words);
    }
    expect(text).toContain('<meta name="robots" content="noindex">');
    expect(text.match(/<script[^>]*>/g)).toEqual([
      expect.stringMatching(/^<script type="module" src="\/assets\/times-[0-9a-f]{12}\.js">$/),
    ]);
    expect(text.match(/<button[^>]* name="do" value="[a-z]+"/g)).toHaveLength(4);
    const secret = path.split('/').at(-1) ?? '';
    expect(/<title>([^<]*)/.exec(text)?.[1]).not.toContain(secret);
    expect(service.logs.join('')).not.toContain(secret);
  });

  test('repeated GET and HEAD requests, as of a link scanner, change nothing', async () => {
    const { id, path } = await pending(service);
    for (const method of ['GET', 'HEAD']) {
      for (let n = 0; n < 5; n += 1) await call(service, path, { method });
    }
    expect(await statusOf(id)).toBe('pending');
    expect((await call(service, path, { method: 'PUT' })).status).toBe(405);
    expect((await call(service, `${path}.md`, { method: 'GET' })).status).toBe(404);
  });

  test('returns 404 for a guessed or misspelt address, also for a click', async () => {
    const { path, id } = await pending(service);
    // The service removes a `_` at the end and redirects, as in any address.
    const cut = path.slice(9, -1).replace(/_+$/, '');
    for (const guess of ['x', cut, `${path.slice(9)}x`, 'A'.repeat(22)]) {
      expect((await openPage(service, `/confirm/${guess}`)).status).toBe(404);
      expect((await pressButton(service, `/confirm/${guess}`, 'decline')).status).toBe(404);
    }
    expect(await statusOf(id)).toBe('pending');
  });
});

describe('POST /confirm/:secret', () => {
  test.each<[string, Record<string, string>, number]>([
    ['403 to another site’s form', { 'sec-fetch-site': 'cross-site' }, 403],
    ['403 to a site of the same registrable domain', { 'sec-fetch-site': 'same-site' }, 403],
    ['403 to a request from the address bar', { 'sec-fetch-site': 'none' }, 403],
    ['403 to a foreign Origin', { origin: 'https://evil.example' }, 403],
    ['403 to an opaque Origin', { origin: 'null' }, 403],
    ['403 to a request without Sec-Fetch-Site and Origin', {}, 403],
    ['403 to an agent that identifies itself', { 'sec-fetch-site': 'same-origin', 'signature-agent': '"x"' }, 403],
    [
      '303 if Sec-Fetch-Site is same-origin, although Origin is opaque',
      { 'sec-fetch-site': 'same-origin', origin: 'null' },
      303,
    ],
  ])('answers %s', async (_name, headers, status) => {
    const { id, path } = await pending(service);
    const token = tokenIn((await openPage(service, path)).text) ?? '';
    for (const button of ['decline', 'send']) {
      const pressed = await pressButton(service, path, button, { headers, token });
      expect(pressed.status).toBe(status);
    }
    expect(await statusOf(id)).toBe(status === 403 ? 'pending' : 'declined');
  });

  test('accepts our own Origin if the browser sends no Sec-Fetch-Site', async () => {
    const { id, path } = await pending(service);
    await pressButton(service, path, 'send', { headers: { origin: service.url } });
    expect(await statusOf(id)).toBe('submitted');
  });

  test('returns 403 if the page token is missing, of another page or ten minutes old', async () => {
    const { id, path } = await pending(service);
    const other = await pending(service, {
      action: 'newsletter',
      fields: { email: 'o@x.example' },
    });
    const theirs = tokenIn((await openPage(service, other.path)).text) ?? '';
    const ours = tokenIn((await openPage(service, path)).text) ?? '';
    for (const token of ['', 'x', theirs, ours.replace(/^\d/, '9'), `${ours}A`]) {
      expect((await pressButton(service, path, 'send', { token })).status).toBe(403);
    }
    clock.advance(10 * 60_000);
    expect((await pressButton(service, path, 'send', { token: ours })).status).toBe(403);
    expect(await statusOf(id)).toBe('pending');
    expect((await pressButton(service, path, 'send')).status).toBe(303);
    expect(await statusOf(id)).toBe('submitted');
  });

  test.each([
    ...['', 'do=', 'do=sent', 'do=send&do=decline', '{"do":"send"}', 'do=check', 'do=sent&code=123456'],
    ...['do=check&code=123456&code=123456', `do=decline&more=${'x'.repeat(8_000)}`],
  ])('returns 400 and changes nothing for the body %.40j', async (body) => {
    const { id, path } = await pending(service);
    const headers = {
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/x-www-form-urlencoded',
    };
    expect((await call(service, path, { headers, body })).status).toBe(400);
    const json = { ...headers, 'content-type': 'application/json' };
    expect((await call(service, path, { headers: json, body: '{"do":"decline"}' })).status).toBe(400);
    expect(await statusOf(id)).toBe('pending');
  });

  test('sends nothing for a client whose credential was removed, but accepts a report of that client', async () => {
    const file = join(service.folder, 'agents.json');
    const without = { clients: credentials.clients.filter(({ name }) => name !== 'sender') };
    const asked = await pending(service, { token: tokens.create });
    writeFileSync(file, JSON.stringify(without));
    try {
      await until(async () => {
        clock.advance(2_000);
        return !service.parts.credentials.mayStill('sender', 'lead:create');
      });
      const refused = await pressButton(service, asked.path, 'send');
      expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('may not send anything here.')]);
      expect((await pressButton(service, asked.path, 'report')).status).toBe(303);
    } finally {
      writeFileSync(file, JSON.stringify(credentials));
      await until(async () => {
        clock.advance(2_000);
        return service.parts.credentials.mayStill('sender', 'lead:create');
      });
    }
    expect((await lookAt(service, asked.id, { token: tokens.create })).body.confirmation.status).toBe('reported');
  });

  test.each(['code', 'check'])('returns 400 for the button %s if the confirmation needs no code', async (button) => {
    const { id, path } = await pending(service);
    expect((await pressButton(service, path, button, { code: '123456' })).status).toBe(400);
    const rows = await service.parts.storage.read((db) =>
      db.selectFrom('confirmations').select(['code_number', 'wrong_codes']).where('id', '=', id),
    );
    expect(rows).toEqual([{ code_number: 0, wrong_codes: 0 }]);
  });

  test('returns 429 after 20 clicks a minute from one address', async () => {
    const headers = { 'sec-fetch-site': 'same-origin', 'x-forwarded-for': freshAddress() };
    const press = () => pressButton(service, `/confirm/${'A'.repeat(22)}`, 'decline', { headers });
    for (let n = 0; n < 20; n += 1) expect((await press()).status).toBe(404);
    const over = await press();
    expect([over.status, over.headers.has('retry-after')]).toEqual([429, true]);
  });
});

describe('code (page_email)', () => {
  const asked = (email: string, token: string = tokens.both) =>
    pending(service, { action: 'newsletter', fields: { email }, via: 'page_email', token });
  const codeFor = (email: string, count?: number) => mailedCode(mail, clock, email, count);

  test('is mailed only on a click and reveals the values, and the fifth wrong code ends the confirmation', async () => {
    const { id, path } = await asked('code@example.com');
    const masked = (await openPage(service, path)).text;
    expect(masked).not.toContain('code@example.com');
    expect(tokenIn(masked)).toBeUndefined();
    expect((await pressButton(service, path, 'send', { token: '' })).status).toBe(403);
    expect((await pressButton(service, path, 'check', { code: '123456' })).text).toContain('try 4');
    expect((await pressButton(service, path, 'code')).status).toBe(303);
    const code = await codeFor('code@example.com');
    expect(mail.received.at(-1)?.raw).toContain('acme wants to send your details to Paint Match');
    const wrong = await pressButton(service, path, 'check', { code: wrongOf(code) });
    expect([wrong.status, wrong.text]).toEqual([200, expect.stringContaining('try 3 more')]);
    const right = await pressButton(service, path, 'check', { code });
    expect([right.status, right.text]).toEqual([200, expect.stringContaining('code@example.com')]);
    // Another code replaces the first, so the first is now wrong.
    await pressButton(service, path, 'code');
    const second = await codeFor('code@example.com', 2);
    if (second !== code) await pressButton(service, path, 'check', { code });
    clock.advance(10 * 60_000);
    await pressButton(service, path, 'check', { code: second });
    expect(await statusOf(id)).toBe('pending');
    await pressButton(service, path, 'check', { code: wrongOf(second) });
    expect(await statusOf(id)).toBe('expired');
  });

  test('a right code reveals the page token that a click on send needs', async () => {
    const { id, path } = await asked('press@example.com');
    await pressButton(service, path, 'code');
    const code = await codeFor('press@example.com');
    const { text } = await pressButton(service, path, 'check', { code });
    const token = tokenIn(text) ?? '';
    expect((await pressButton(service, path, 'send', { token })).status).toBe(303);
    expect(await statusOf(id)).toBe('submitted');
  });

  test('a right code after five wrong ones ends the confirmation, although a process died before it ended', async () => {
    const { id, path } = await asked('died@example.com');
    await pressButton(service, path, 'code');
    const code = await codeFor('died@example.com');
    await service.parts.storage.write((tx) =>
      tx.updateTable('confirmations').set({ wrong_codes: 5 }).where('id', '=', id).execute(),
    );
    const { text } = await pressButton(service, path, 'check', { code });
    expect(text).not.toContain('died@example.com');
    expect(await statusOf(id)).toBe('expired');
  });

  test('60 simultaneous guesses from different addresses end the confirmation after five', async () => {
    const { id, path } = await asked('guess@example.com');
    await pressButton(service, path, 'code');
    const code = await codeFor('guess@example.com');
    const guesses = Array.from({ length: 60 }, (_, n) => String(100_000 + n)).filter((guess) => guess !== code);
    const answers = await Promise.all(guesses.map((guess) => pressButton(service, path, 'check', { code: guess })));
    expect(answers.filter(({ text }) => text.includes('guess@example.com'))).toEqual([]);
    expect(await statusOf(id)).toBe('expired');
    const late = await pressButton(service, path, 'check', { code });
    expect(late.status).toBe(303);
    const ends = service.logs.filter((line) => line.includes(id) && line.includes('expired after five wrong codes'));
    expect(ends).toHaveLength(1);
  });

  test('is mailed to one mailbox at most three times a day for one client, and six times for all clients', async () => {
    const press = async (token: string, tag: string) => {
      const { path } = await asked(`bound+${tag}@example.com`, token);
      return await pressButton(service, path, 'code');
    };
    for (const tag of ['a', 'b', 'c']) expect((await press(tokens.both, tag)).status).toBe(303);
    const over = await press(tokens.both, 'd');
    expect([over.status, Number(over.headers.get('retry-after'))]).toEqual([429, expect.closeTo(86_400, -3)]);
    for (const tag of ['e', 'f', 'g']) expect((await press(tokens.other, tag)).status).toBe(303);
    expect((await press(tokens.create, 'h')).status).toBe(429);
  });
});
