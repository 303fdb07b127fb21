/** The cause that the doctor names if the mail server fails, and its test message (reference §13.3). */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { mailServer, testMessage } from '../../src/commands/doctor/mail-checks.ts';
import { startMailServer } from '../mail/mail-server.ts';
import { freePort } from '../support/free-port.ts';
import { atEndOfFile } from '../support/leftovers.ts';
import { examine, portThat } from './examine.ts';
import { temporaryFolder } from './run-service.ts';

/** Starts a mail server, which ends with the test file. */
async function mailServerWith(options: Parameters<typeof startMailServer>[0] = {}) {
  const server = await startMailServer(options);
  atEndOfFile(server.close);
  return server;
}

const MAIL_FROM = 'hello@paint.example';

/** Returns what the doctor says about a mail server that fails. */
async function causeAt(SMTP_URL: string): Promise<string> {
  const [mail, message] = await examine({ SMTP_URL, MAIL_FROM }, [mailServer, testMessage]);
  expect([mail?.outcome, message]).toEqual([
    'failed',
    { outcome: 'off', told: 'Not tested, because the check of mail failed.' },
  ]);
  return mail?.told ?? '';
}

describe.concurrent('doctor, mail server that fails', () => {
  test('suggests smtp:// if the port behind smtps:// has no TLS', async () => {
    const { url } = await mailServerWith();
    expect(await causeAt(url.replace('smtp:', 'smtps:'))).toMatch(
      /^Mail server error ERR_SSL_\w+\. The port does not support TLS\. Replace smtps:\/\/ with smtp:\/\/ in SMTP_URL, or correct the port\.$/,
    );
  });

  test('suggests smtps:// within nine seconds if the port behind smtp:// uses TLS', async () => {
    const port = await portThat((socket) => socket.write('220 mail.example ESMTP\r\n'), true);
    const startedAt = performance.now();
    expect(await causeAt(`smtp://127.0.0.1:${port}`)).toBe(
      'The port expects TLS from the first byte. Replace smtp:// with smtps:// in SMTP_URL, or correct the port.',
    );
    expect(performance.now() - startedAt).toBeLessThan(9_000);
  });

  test('sees a server that speaks first, and tries no TLS with it, which some servers punish', async () => {
    const begins: string[] = [];
    const port = await portThat((socket) => {
      socket.write('220 mail.example ESMTP\r\n');
      socket.once('data', (data) => begins.push(String(data).slice(0, 5)));
      socket.on('data', () => socket.write('550 5.7.1 canary\r\n'));
    });
    expect(await causeAt(`smtp://127.0.0.1:${port}`)).toBe(
      'Mail server error 550. This is not a mail server, or the server refuses the greeting. Correct the port in SMTP_URL, or append ?name= with a host name that the server accepts.',
    );
    expect(begins).toEqual(['EHLO ']);
  });

  test('names a certificate that is not trusted', async () => {
    const { url } = await mailServerWith({ starttls: true });
    expect(await causeAt(url)).toBe(
      'Mail server error DEPTH_ZERO_SELF_SIGNED_CERT. This machine does not trust the certificate of the server. Set NODE_EXTRA_CA_CERTS in the environment (not in .env) to a PEM file of the certificate authority, or make the server send its whole chain.',
    );
  });

  test('names a closed port', async () => {
    expect(await causeAt(`smtp://127.0.0.1:${await freePort()}`)).toBe(
      'Mail server error ECONNREFUSED. Nothing listens at this address. Start the server, or correct the host and the port in SMTP_URL.',
    );
  });

  test('names a host that does not resolve', async () => {
    expect(await causeAt('smtp://no-such-host.invalid')).toMatch(
      /^Mail server error \w+\. The name of the host can’t be resolved\. Correct the host in SMTP_URL, or check the name servers/,
    );
  });

  test('reports that the mail server refuses the password', async () => {
    const { url } = await mailServerWith({ users: { user: 'right' } });
    expect(await causeAt(url.replace('smtp://', 'smtp://user:canary@'))).toBe(
      'Mail server error 535. The server refuses this user or password. Correct user and password in SMTP_URL, and write / # ? % as %2F %23 %3F %25. Some services need a separate password for programs.',
    );
  });

  test.each(['HTTP/1.1 400 Bad Request\r\n\r\n', '554 5.7.1 canary\r\n'])(
    'reports that the server which greets with %j is not a mail server',
    async (greeting) => {
      const port = await portThat((socket) => socket.end(greeting));
      expect(await causeAt(`smtp://127.0.0.1:${port}`)).toMatch(
        /^Mail server error \w+\. This is not a mail server, or the server refuses the greeting\. Correct the port in SMTP_URL, or append \?name= with a host name that the server accepts\.$/,
      );
    },
  );

  test('reports that the server offers no TLS, though SMTP_URL requires it', async () => {
    const { url } = await mailServerWith();
    expect(await causeAt(`${url}?requireTLS=true`)).toMatch(
      /^Mail server error \w+\. The server offers no usable TLS\. Remove requireTLS from SMTP_URL, or turn TLS on at the server\.$/,
    );
  });

  test('quotes an error of which it knows no cause', async () => {
    const port = await portThat((socket) =>
      socket.once('data', () => socket.end(Buffer.from('15030300020228', 'hex'))),
    );
    expect(await causeAt(`smtps://127.0.0.1:${port}`)).toMatch(
      /^Mail server error ERR_SSL_\S+\. The server refuses the connection\. Check SMTP_URL: scheme, host, port, user and password\.$/,
    );
  });

  test('reports that the server closes the connection', async () => {
    const port = await portThat((socket) => socket.resetAndDestroy());
    expect(await causeAt(`smtp://127.0.0.1:${port}`)).toBe(
      'Mail server error ECONNRESET. The server closed the connection without an answer. See the log of the server, and check the port in SMTP_URL.',
    );
  });
});

describe('doctor, test message', () => {
  const checks = [mailServer, testMessage];
  const accepted = [
    { outcome: 'ok', told: 'The mail server accepts the connection.' },
    { outcome: 'ok', told: 'The test message was accepted by the mail server.' },
  ];

  test('goes to MAIL_FROM or --mail-to, with the password of SMTP_URL', async () => {
    const server = await mailServerWith({ users: { user: 'canary' } });
    const environment = { SMTP_URL: server.url.replace('smtp://', 'smtp://user:canary@'), MAIL_FROM };
    expect(await examine(environment, checks)).toEqual(accepted);
    expect(await examine(environment, checks, { mailTo: 'you@example.com' })).toEqual(accepted);
    expect(server.received).toMatchObject([
      { from: MAIL_FROM, to: [MAIL_FROM] },
      { from: MAIL_FROM, to: ['you@example.com'] },
    ]);
  });

  test('has random links of the site and a message id of its host', async () => {
    const server = await mailServerWith();
    const environment = { SMTP_URL: server.url, MAIL_FROM, BASE_URL: 'https://leads.example:8443' };
    await examine(environment, checks);
    await examine(environment, checks);
    const texts = server.received.map(({ raw }) => raw.replaceAll('=\r\n', '').replaceAll('=3D', '='));
    const links = texts.flatMap((text) => text.match(/https:\/\/leads\.example:8443\S*[?#/=]([\w-]{22})\b/g) ?? []);
    expect(new Set(links).size).toBe(4);
    for (const text of texts) expect(text).toMatch(/^Message-ID: <[\da-f-]{36}@leads\.example>\r$/m);
  });

  test.each([
    [
      '(550 5.1.1). Check SMTP_URL and MAIL_FROM. The account must be allowed to send from that address.',
      { recipient: () => ({ code: 550, text: '5.1.1 canary' }) },
    ],
    [
      '(530). It requires a sign-in. Add a user and a password: SMTP_URL=smtp://user:password@host',
      { users: { user: 'right' } },
    ],
  ])('is refused by a mail server: %s', async (words, options) => {
    const { url } = await mailServerWith(options);
    const [mail, message] = await examine({ SMTP_URL: url, MAIL_FROM }, checks);
    expect(mail?.outcome).toBe('ok');
    expect(message).toEqual({ outcome: 'failed', told: `The mail server refused the message ${words}` });
  });

  test('is written to a file in local mode', async () => {
    const DATA_DIR = join(temporaryFolder(), 'data');
    const folder = join(DATA_DIR, 'mail');
    expect(await examine({ DATA_DIR }, checks)).toEqual([
      { outcome: 'ok', told: `Messages are written to ${folder}, not sent.` },
      { outcome: 'ok', told: 'The test message was written to a file.' },
    ]);
    const [name = ''] = readdirSync(folder);
    expect(readFileSync(join(folder, name), 'utf8')).toMatch(/^To: /m);
  });
});
