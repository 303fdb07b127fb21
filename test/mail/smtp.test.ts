import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import PostalMime from 'postal-mime';
import { afterEach, describe, expect, test } from 'vitest';
import { openSmtpMailer, type SmtpTimeouts } from '../../src/mail/smtp.ts';
import { testClock } from '../support/clock.ts';
import {
  baseUrl,
  confirmation,
  from,
  type MailServerOptions,
  quick,
  startMailServer,
  unhurried,
} from './mail-server.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function mailServer(options: MailServerOptions = {}) {
  const server = await startMailServer(options);
  closers.push(server.close);
  return server;
}

async function mailerTo(url: string, timeouts: SmtpTimeouts = unhurried, site = baseUrl) {
  const mailer = await openSmtpMailer({ url, baseUrl: site, from, clock: testClock(), timeouts });
  closers.push(mailer.close);
  return mailer;
}

/** Starts a TCP server that speaks only as much SMTP as the test writes. */
async function rawServer(serve: (socket: Socket) => void) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const message = {
  ...confirmation,
  address: 'jane.o+news@subscriber.example',
  messageId: '<m-1@paint.example>',
};

describe('sent message', () => {
  test('has one recipient, only the fixed headers, and no part of the address in its body', async () => {
    const server = await mailServer();
    const mailer = await mailerTo(server.url);
    expect(await mailer.send(message)).toEqual({ kind: 'sent' });
    const [received] = server.received;
    expect(received).toMatchObject({ from: 'hello@paint.example', to: [message.address] });
    const parsed = await PostalMime.parse(received?.raw ?? '');
    expect(parsed.headers.map(({ key, value }) => [key, value])).toEqual([
      ['auto-submitted', 'auto-generated'],
      ['list-unsubscribe', `<${baseUrl}/newsletter/leave/LLLLLLLLLLLLLLLLLLLLLL>`],
      ['list-unsubscribe-post', 'List-Unsubscribe=One-Click'],
      ['from', '"Paint, Match" <hello@paint.example>'],
      ['to', message.address],
      ['subject', 'Please confirm your subscription to updates from Paint Match'],
      ['message-id', message.messageId],
      ['date', 'Tue, 01 Sep 2026 12:00:00 +0000'],
      ['content-transfer-encoding', '7bit'],
      ['mime-version', '1.0'],
      ['content-type', 'text/plain; charset=utf-8'],
    ]);
    expect(parsed.from).toEqual({ name: 'Paint, Match', address: 'hello@paint.example' });
    expect(parsed.text).toContain('https://paint.example/privacy');
    const body = received?.raw.split('\r\n\r\n').slice(1).join() ?? '';
    for (const part of ['jane', '+news', 'subscriber']) expect(body).not.toContain(part);
    expect(parsed.html).toBeUndefined();
  });

  test('has the given address as Reply-To, and is refused with more than one such address', async () => {
    const server = await mailServer();
    const mailer = await mailerTo(server.url);
    expect(await mailer.send({ ...message, replyTo: 'ada@x.example' })).toEqual({ kind: 'sent' });
    const parsed = await PostalMime.parse(server.received[0]?.raw ?? '');
    expect(parsed.replyTo).toEqual([{ name: '', address: 'ada@x.example' }]);
    const refused = await mailer.send({ ...message, replyTo: 'a@x.com,b@y.com' });
    expect(refused).toMatchObject({ kind: 'refused', permanent: true });
    expect(server.offered).toHaveLength(1);
  });

  test.each([
    'a@x.com,b@y.com',
    'a@x.com, b@y.com',
    'a@x.com;b@y.com',
    'a@x.com b@y.com',
    'x: a@x.com, b@y.com;',
    'a@x.com\r\nBcc: b@y.com',
    'Name <a@x.com>',
    'a@ｘ.com',
    '"a,b"@x.com',
    '',
  ])('is refused for the invalid address %j, before the address reaches the server', async (address) => {
    const server = await mailServer();
    const mailer = await mailerTo(server.url);
    expect(await mailer.send({ ...message, address })).toEqual({
      kind: 'refused',
      permanent: true,
      reason: 'not an address',
    });
    expect(server.offered).toEqual([]);
  });
});

describe('refusals', () => {
  const text = `user ${message.address} said no`;
  const SHOWN = 'user … said no';

  test.each([
    ['a permanently refused recipient', { recipient: { code: 550, text: `5.1.1 ${text}` } }, true, '550 5.1.1', SHOWN],
    ['a temporarily refused recipient', { recipient: { code: 451, text: `4.7.1 ${text}` } }, false, '451 4.7.1', SHOWN],
    ['a permanently refused message', { data: { code: 554, text } }, true, '554', SHOWN],
    ['a temporarily refused message', { data: { code: 452, text } }, false, '452', SHOWN],
    // A refused sender concerns every message, until the operator corrects it.
    ['a refused sender', { sender: { code: 550, text: `5.7.1 ${text}` } }, false, '550 5.7.1', SHOWN],
    ['a reply with longer codes', { data: { code: 554, text: `5.123.260 ${text}` } }, true, '554 5.123.260', SHOWN],
    ['a reply in several lines', { data: { code: 554, text: '5.7.1 one\n5.7.1 two' } }, true, '554 5.7.1', 'one … two'],
    ['a reply with an invalid code', { data: { code: 554, text: `3.1.1 ${text}` } }, true, '554', `… ${SHOWN}`],
    ['a reply with a code of too many digits', { data: { code: 554, text: '5.1.2345 x' } }, true, '554', '… x'],
    ['a reply with a code within its text', { data: { code: 554, text: 'no 123 5.1.1 no' } }, true, '554', 'no … no'],
  ])(
    'returns kind, code and a text without the address for %s',
    async (_, replies: { sender?: Reply; recipient?: Reply; data?: Reply }, permanent, reason, shown) => {
      const { sender, recipient, data } = replies;
      const server = await mailServer({
        sender: () => sender,
        recipient: () => recipient,
        data: () => data,
      });
      const mailer = await mailerTo(server.url);
      const reply = `${reason} ${shown}`;
      expect(await mailer.send(message)).toEqual({ kind: 'refused', permanent, reason, reply });
    },
  );

  test('returns a temporary refusal without a secret for a refused sign-in', async () => {
    const server = await mailServer({ users: { service: 'right' } });
    const url = (password: string) => `smtp://service:${password}@127.0.0.1:${server.port}`;
    const wrong = await (await mailerTo(url('wr%40ng'))).send(message);
    const reason = '535 5.7.8';
    expect(wrong).toEqual({ kind: 'refused', permanent: false, reason, reply: '535 5.7.8 no' });
    expect(await (await mailerTo(url('right'))).send(message)).toEqual({ kind: 'sent' });
  });

  test('returns a temporary refusal if the server is unavailable', async () => {
    const server = await startMailServer();
    await server.close();
    const mailer = await mailerTo(server.url);
    expect(await mailer.send(message)).toEqual({
      kind: 'refused',
      permanent: false,
      reason: 'ESOCKET',
    });
  });

  test('makes one attempt if the server closes the connection at once', async () => {
    let calls = 0;
    const url = await rawServer((socket) => {
      calls += 1;
      socket.end();
    });
    expect(await (await mailerTo(url)).send(message)).toMatchObject({ permanent: false });
    expect(calls).toBe(1);
  });

  test('returns a temporary refusal after one attempt if the connection is lost before the 250', async () => {
    const server = await mailServer({ data: () => 'drop' });
    const mailer = await mailerTo(server.url);
    expect(await mailer.send(message)).toMatchObject({ kind: 'refused', permanent: false });
    expect(server.received).toHaveLength(1);
  });
});

test('refuses a text that is an object, and reads neither the file nor the URL in the object', async () => {
  const server = await mailServer();
  const mailer = await mailerTo(server.url);
  let calls = 0;
  const other = await rawServer((socket) => {
    calls += 1;
    socket.end();
  });
  for (const text of [{ path: import.meta.filename }, { href: other.replace('smtp', 'http') }]) {
    const result = await mailer.send({ ...message, text: text as unknown as string });
    expect(result).toMatchObject({ kind: 'refused', permanent: false });
  }
  expect([server.received, calls]).toEqual([[], 0]);
});

type Reply = { code: number; text: string };

describe('servers that stall', () => {
  test('times out if the server does not reply to a recipient, while another send succeeds', async () => {
    const server = await mailServer({
      recipient: (address) => (address.startsWith('slow') ? 'stall' : undefined),
    });
    const mailer = await mailerTo(server.url, { ...unhurried, socketMs: quick.socketMs });
    const slow = mailer.send({ ...message, address: 'slow@x.example', messageId: '<slow@h>' });
    expect(await mailer.send(message)).toEqual({ kind: 'sent' });
    expect(await slow).toEqual({ kind: 'refused', permanent: false, reason: 'ETIMEDOUT' });
  });

  test('times out if the server sends no greeting', async () => {
    const mailer = await mailerTo(await rawServer(() => {}), quick);
    expect(await mailer.send(message)).toEqual({
      kind: 'refused',
      permanent: false,
      reason: 'ETIMEDOUT',
    });
  });

  test('aborts at the time limit of the whole send if a reply never ends', async () => {
    const url = await rawServer((socket) => {
      socket.write('220 ');
      const trickle = setInterval(() => socket.write('x'), 50);
      socket.on('close', () => clearInterval(trickle));
    });
    const mailer = await mailerTo(url, { ...quick, connectionMs: 60_000 });
    expect(await mailer.send(message)).toEqual({
      kind: 'refused',
      permanent: false,
      reason: 'EABORT',
    });
  });

  test('aborts a running send when the mailer closes', async () => {
    const server = await mailServer({ recipient: () => 'stall' });
    const mailer = await mailerTo(server.url);
    const send = mailer.send(message);
    await expect.poll(() => server.offered.length).toBe(1);
    await mailer.close();
    expect(await send).toEqual({ kind: 'refused', permanent: false, reason: 'EABORT' });
    await expect.poll(() => server.connections()).toBe(0);
  });
});

describe('connection', () => {
  test('ends when the mailer closes, both before the greeting of the server and when idle', async () => {
    const ended: string[] = [];
    const silent = await rawServer((socket) => socket.on('close', () => ended.push('silent')));
    const patient = { connectionMs: 60_000, socketMs: 60_000, sendMs: 60_000 };
    const waiting = await mailerTo(silent, patient);
    const send = waiting.send(message);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await waiting.close();
    expect(await send).toMatchObject({ reason: 'EABORT' });
    await expect.poll(() => ended).toEqual(['silent']);
    const server = await mailServer();
    const resting = await mailerTo(server.url, patient);
    await resting.send(message);
    expect(server.connections()).toBe(1);
    await resting.close();
    await expect.poll(() => server.connections()).toBe(0);
  });

  test('sends a message if no time-outs are given', async () => {
    const server = await mailServer();
    const mailer = await openSmtpMailer({ url: server.url, baseUrl, from, clock: testClock() });
    closers.push(mailer.close);
    expect(await mailer.send(message)).toEqual({ kind: 'sent' });
  });

  test.each([
    ['https://paint.example', 'paint.example'],
    ['http://localhost:3000', 'localhost'],
    ['http://127.0.0.1:3000', '[127.0.0.1]'],
    ['http://[2001:db8::1]:3000', '[IPv6:2001:db8::1]'],
    ['https://färben.example', 'xn--frben-gra.example'],
  ])('greets the server for BASE_URL=%s as %s', async (site, greeting) => {
    const server = await mailServer();
    const mailer = await mailerTo(server.url, unhurried, site);
    expect(await mailer.send(message)).toEqual({ kind: 'sent' });
    // The test's server lowercases the name.
    expect(server.received[0]?.greeting).toBe(greeting.toLowerCase());
  });

  test('the query of SMTP_URL sets greeting, authentication method and TLS', async () => {
    const plain = await mailServer({ starttls: true });
    const unencrypted = await mailerTo(`${plain.url}/?ignoreTLS=true&name=relay.example`);
    expect(await unencrypted.send(message)).toEqual({ kind: 'sent' });
    expect(plain.received[0]).toMatchObject({ secure: false, greeting: 'relay.example' });
    const asking = await mailServer({ users: { service: 'right' } });
    const url = `smtp://service:right@127.0.0.1:${asking.port}/?authMethod=LOGIN`;
    expect(await (await mailerTo(url)).send(message)).toEqual({ kind: 'sent' });
    expect(asking.received[0]?.signedIn).toBe('LOGIN');
  });

  test('uses STARTTLS if the server offers it, and refuses an untrusted certificate', async () => {
    const server = await mailServer({ starttls: true });
    const strict = await mailerTo(server.url);
    expect(await strict.send(message)).toMatchObject({ kind: 'refused', permanent: false });
    expect(server.received).toEqual([]);
    const trusting = await mailerTo(`${server.url}/?tls.rejectUnauthorized=false`);
    expect(await trusting.send(message)).toEqual({ kind: 'sent' });
    expect(server.received[0]?.secure).toBe(true);
  });

  test('sends nothing if SMTP_URL has requireTLS and the server has no TLS', async () => {
    const server = await mailServer();
    const mailer = await mailerTo(`${server.url}/?requireTLS=true`);
    expect(await mailer.send(message)).toMatchObject({ kind: 'refused', permanent: false });
    expect(server.offered).toEqual([]);
  });

  test('ignores log options in the query of SMTP_URL, which would log addresses', async () => {
    const server = await mailServer();
    const mailer = await mailerTo(`${server.url}/?logger=true&debug=true&transactionLog=true`);
    const lines: string[] = [];
    const write = process.stdout.write;
    const log = console.log;
    process.stdout.write = (line) => lines.push(String(line)) > 0;
    console.log = (...words: unknown[]) => lines.push(words.join(' '));
    try {
      await mailer.send(message);
    } finally {
      process.stdout.write = write;
      console.log = log;
    }
    expect(server.received).toHaveLength(1);
    expect(lines.join('\n')).not.toContain('subscriber.example');
  });

  test('sends 30 messages over at most five connections', async () => {
    const server = await mailServer();
    const mailer = await mailerTo(server.url);
    let most = 0;
    await Promise.all(
      Array.from({ length: 30 }, async (_, i) => {
        await mailer.send({ ...message, address: `p${i}@x.example`, messageId: `<${i}@h>` });
        most = Math.max(most, server.connections());
      }),
    );
    expect(server.received).toHaveLength(30);
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(5);
  });
});
