/** `npm run doctor` names the usual cause of each answer (reference §13.3). */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Check, Finding } from '../../src/commands/doctor/check.ts';
import { runCheck } from '../../src/commands/doctor/doctor.ts';
import { database as databaseCheck } from '../../src/commands/doctor/local-checks.ts';
import { mailServer, testMessage } from '../../src/commands/doctor/mail-checks.ts';
import { rateLimits } from '../../src/commands/doctor/redis-check.ts';
import { upstream } from '../../src/commands/doctor/upstream-check.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { readSettings } from '../../src/settings/settings.ts';
import { startMailServer } from '../mail/mail-server.ts';
import { cert, key } from '../support/certificate.ts';
import { databases, redisAnswers, redisUrl } from '../support/databases.ts';
import { freePort } from '../support/free-port.ts';
import { startTlsReceiver } from '../support/tls-receiver.ts';
import { answering, startUpstream } from '../support/upstream.ts';
import { runService, temporaryFolder } from './run-service.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = join(temporaryFolder(), 'data');
});

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** Runs checks one after another, as the doctor does. Returns the outcome of each, and its words with the remedy. */
async function examine(environment: Record<string, string>, ...checks: Check[]) {
  const read = readSettings({ DATA_DIR: dataDir, ...environment });
  if (read.kind === 'invalid') throw new Error(read.faults.join('\n'));
  const findings: Finding[] = [];
  const context = { settings: read.settings, clock: systemClock, send: true, mailTo: undefined, findings };
  for (const check of checks) findings.push(await runCheck(check, context));
  expect(JSON.stringify(findings)).not.toContain('canary');
  return findings.map(({ outcome, says, remedy = '' }) => ({ outcome, told: `${says} ${remedy}` }));
}

/** First byte of a TLS connection. */
const HANDSHAKE = 0x16;

/** Returns the port of a server that calls `serve` for each connection. */
async function portThat(serve: (socket: Socket) => void, tls = false): Promise<number> {
  const sockets: Socket[] = [];
  const take = (socket: Socket) => {
    sockets.push(socket.on('error', () => {}));
    serve(socket);
  };
  const server = tls ? createTlsServer({ cert, key }, take) : createServer(take);
  server.on('tlsClientError', () => {});
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const upstreamAt = async (UPSTREAM_URL: string, environment: Record<string, string> = {}) =>
  (await examine({ UPSTREAM_URL, ...environment }, upstream))[0] ?? expect.fail();

describe('doctor, status of the receiver', () => {
  async function answeredBy(status: number, environment: Record<string, string> = {}) {
    const receiver = await startUpstream();
    closers.push(receiver.close);
    receiver.answer = answering(status, { location: 'https://canary.example/' });
    return await upstreamAt(receiver.url, environment);
  }

  test.each([
    [301, /301\. Redirects are never followed\. Set UPSTREAM_URL/],
    [302, /302\. Redirects are never followed\. Set UPSTREAM_URL.*UPSTREAM_REDIRECT=confirmed/],
    [303, /303\. Redirects are never followed\. Set UPSTREAM_URL.*UPSTREAM_REDIRECT=confirmed/],
    [307, /307\. Redirects are never followed\. Set UPSTREAM_URL/],
    [308, /308\. Redirects are never followed\. Set UPSTREAM_URL/],
    [400, /400\. The receiver refuses the event\./],
    [401, /401\. The receiver refuses this service\. .*UPSTREAM_HEADERS.*UPSTREAM_SECRET.*UPSTREAM_URL/],
    [403, /403\. The receiver refuses this service\. .*UPSTREAM_HEADERS.*UPSTREAM_SECRET.*UPSTREAM_URL/],
    [404, /404\. There is nothing at this address\. .*path of UPSTREAM_URL/],
    [405, /405\. This address does not accept POST\./],
    [429, /429\. The receiver accepts no more/],
    [500, /500\. The receiver failed\. See the log/],
    [502, /502\. A proxy in front of the receiver/],
  ])('names the cause and the remedy of an answer with status %i', async (status, words) => {
    const { outcome, told } = await answeredBy(status);
    expect(outcome).toBe('failed');
    expect(told).toMatch(words);
    if (![302, 303].includes(status)) expect(told).not.toContain('UPSTREAM_REDIRECT');
  });

  test.each([
    [302, 'warning'],
    [303, 'warning'],
    [307, 'failed'],
  ])('with UPSTREAM_REDIRECT=confirmed, reports status %i as %s', async (status, outcome) => {
    // The warning is about the missing signature.
    expect(await answeredBy(status, { UPSTREAM_REDIRECT: 'confirmed' })).toMatchObject({ outcome });
  });
});

test('doctor sends the test event with the headers of UPSTREAM_HEADERS', async () => {
  const receiver = await startUpstream();
  closers.push(receiver.close);
  receiver.answer = (response, { headers }) => {
    response.writeHead(headers.authorization === 'Bearer canary' ? 204 : 401).end();
  };
  expect((await upstreamAt(receiver.url)).outcome).toBe('failed');
  const { told } = await upstreamAt(receiver.url, { UPSTREAM_HEADERS: 'Authorization: Bearer canary' });
  expect(told).toContain('was delivered');
});

describe('doctor, receiver that gives no answer', () => {
  test('names a closed port', async () => {
    const { told } = await upstreamAt(`http://127.0.0.1:${await freePort()}/`);
    expect(told).toMatch(/\(ECONNREFUSED\)\. Nothing listens at this address\. Start the server.*UPSTREAM_URL/);
  });

  test('names a host that does not resolve', async () => {
    const { told } = await upstreamAt('https://no-such-host.invalid/');
    expect(told).toMatch(/The name of the host can’t be resolved\. Correct the host in UPSTREAM_URL/);
  });

  test('reports a certificate that is not trusted, and accepts the certificate with NODE_EXTRA_CA_CERTS', async () => {
    const receiver = await startTlsReceiver();
    closers.push(receiver.close);
    const { told } = await upstreamAt(receiver.url);
    expect(told).toMatch(/does not trust the certificate of the server\. Set NODE_EXTRA_CA_CERTS/);
    const path = join(temporaryFolder(), 'ca.pem');
    writeFileSync(path, cert);
    // Node.js reads this variable at the start of the process.
    const environment = { DATA_DIR: dataDir, UPSTREAM_URL: receiver.url, NODE_EXTRA_CA_CERTS: path };
    const { stdout } = await runService(['doctor'], { environment });
    expect(stdout).toMatch(/^warning {2}upstream {6}Test event \S+ was delivered\./m);
  });

  test('suggests http:// if the port behind https:// has no TLS', async () => {
    const receiver = await startUpstream();
    closers.push(receiver.close);
    const { told } = await upstreamAt(receiver.url.replace('http:', 'https:'));
    expect(told).toMatch(/does not support TLS\. Replace https:\/\/ with http:\/\/ in UPSTREAM_URL/);
  });

  test('suggests https:// if the port behind http:// uses TLS', async () => {
    const port = await portThat(() => {}, true);
    const { told } = await upstreamAt(`http://127.0.0.1:${port}/`);
    expect(told).toMatch(/expects TLS from the first byte\. Replace http:\/\/ with https:\/\//);
  });

  test('says that an answer can’t be read if it is not HTTP', async () => {
    const port = await portThat((socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'));
    const { told } = await upstreamAt(`http://127.0.0.1:${port}/`);
    expect(told).toMatch(
      /\(HTTPParserError\)\. The answer of the receiver can’t be read\. See the log .* UPSTREAM_URL\.$/,
    );
  });

  test('suggests https:// if the port answers HTTP with an alert of TLS', async () => {
    const server = createTlsServer({ cert, key });
    const port = await portThat((socket) =>
      socket.once('data', (first) => {
        if (first[0] !== HANDSHAKE) return socket.end(Buffer.from('15030100020246', 'hex'));
        socket.pause().unshift(first);
        return server.emit('connection', socket);
      }),
    );
    const { told } = await upstreamAt(`http://127.0.0.1:${port}/`);
    expect(told).toMatch(/expects TLS from the first byte\. Replace http:\/\/ with https:\/\//);
  });

  test('names UPSTREAM_TIMEOUT_MS if the receiver does not answer within that time', async () => {
    const port = await portThat(() => {});
    const { told } = await upstreamAt(`http://127.0.0.1:${port}/`, { UPSTREAM_TIMEOUT_MS: '200' });
    expect(told).toMatch(/did not answer within 200 ms\. .*UPSTREAM_TIMEOUT_MS/);
  });
});

describe('doctor, mail server that fails', () => {
  async function mailAt(SMTP_URL: string) {
    const startedAt = performance.now();
    const environment = { SMTP_URL, MAIL_FROM: 'hello@paint.example' };
    const [mail, message] = await examine(environment, mailServer, testMessage);
    expect([mail?.outcome, message?.outcome]).toEqual(['failed', 'off']);
    return { told: mail?.told, elapsedMs: performance.now() - startedAt };
  }

  test('suggests smtp:// if the port behind smtps:// has no TLS', async () => {
    const server = await startMailServer();
    closers.push(server.close);
    const { told } = await mailAt(server.url.replace('smtp:', 'smtps:'));
    expect(told).toMatch(/does not support TLS\. Replace smtps:\/\/ with smtp:\/\/ in SMTP_URL/);
  });

  test('suggests smtps:// within nine seconds if the port behind smtp:// uses TLS', async () => {
    const port = await portThat((socket) => socket.write('220 mail.example ESMTP\r\n'), true);
    const { told, elapsedMs } = await mailAt(`smtp://127.0.0.1:${port}`);
    expect(told).toMatch(/expects TLS from the first byte\. Replace smtp:\/\/ with smtps:\/\//);
    expect(elapsedMs).toBeLessThan(9_000);
  });

  test('names a certificate that is not trusted', async () => {
    const server = await startMailServer({ starttls: true });
    closers.push(server.close);
    const { told } = await mailAt(server.url);
    expect(told).toMatch(/does not trust the certificate of the server\. Set NODE_EXTRA_CA_CERTS/);
  });

  test('names a closed port', async () => {
    const { told } = await mailAt(`smtp://127.0.0.1:${await freePort()}`);
    expect(told).toMatch(/Nothing listens at this address\. Start the server.*SMTP_URL/);
  });

  test('names a host that does not resolve', async () => {
    const { told } = await mailAt('smtp://no-such-host.invalid');
    expect(told).toMatch(/The name of the host can’t be resolved\. Correct the host in SMTP_URL/);
  });

  test('reports that the mail server refuses the password', async () => {
    const server = await startMailServer({ users: { user: 'right' } });
    closers.push(server.close);
    const { told } = await mailAt(server.url.replace('smtp://', 'smtp://user:canary@'));
    expect(told).toMatch(
      /error 535\. The server refuses this user or password\. Correct user and password in SMTP_URL/,
    );
  });

  test('reports that the server at SMTP_URL is not a mail server', async () => {
    const port = await portThat((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const { told } = await mailAt(`smtp://127.0.0.1:${port}`);
    expect(told).toMatch(/not a mail server.*Correct the port in SMTP_URL/);
  });
});

test.runIf(databases.length > 1)(
  'doctor explains a search_path of PostgreSQL whose schema does not exist',
  async () => {
    const database = await (databases[1]?.[1] ?? expect.fail())();
    closers.push(database.remove);
    const url = new URL(database.url);
    url.searchParams.set('options', '-c search_path=leads');
    const [finding] = await examine({ DATABASE_URL: url.href }, databaseCheck);
    expect(finding?.outcome).toBe('failed');
    expect(finding?.told).toMatch(/^PostgreSQL can’t be used\. No schema of the search_path exists .*create schema/);
  },
);

describe.runIf(redisAnswers)('doctor, Redis that fails', () => {
  const limitsAt = async (REDIS_URL: string) => (await examine({ REDIS_URL }, rateLimits))[0]?.told;
  test('quotes the error text of Redis', async () => {
    const url = new URL(redisUrl);
    url.pathname = '/9999';
    const told = await limitsAt(url.href);
    expect(told).toMatch(/Redis says: ERR DB index is out of range\. .*REDIS_URL/);
  });

  test('suggests redis:// if the port behind rediss:// has no TLS', async () => {
    const told = await limitsAt(redisUrl.replace(/^redis:/, 'rediss:'));
    expect(told).toMatch(/does not support TLS\. Replace rediss:\/\/ with redis:\/\/ in REDIS_URL/);
  });

  test('suggests rediss:// if the port behind redis:// uses TLS', async () => {
    const port = await portThat(() => {}, true);
    expect(await limitsAt(`redis://127.0.0.1:${port}`)).toMatch(/Replace redis:\/\/ with rediss:\/\//);
  });

  test('says that Redis does not count if its user may not run scripts', async () => {
    const port = await portThat((socket) =>
      socket.on('data', (data) => {
        const commands = data.toString().split(/^\*/m).slice(1);
        const answers = commands.map((command) =>
          /eval/i.test(command) ? '-NOPERM no scripts\r\n' : /ping/i.test(command) ? '+PONG\r\n' : '+OK\r\n',
        );
        socket.write(answers.join(''));
      }),
    );
    const told = await limitsAt(`redis://127.0.0.1:${port}`);
    expect(told).toMatch(/Redis answers, but does not count\. See the log of Redis\. .*\(eval, evalsha\)\.$/);
  });

  test('names a closed port', async () => {
    const told = await limitsAt(`redis://127.0.0.1:${await freePort()}`);
    expect(told).toMatch(/Nothing listens at this address\. Start the server.*REDIS_URL/);
  });

  test('quotes an error text that contains the password, without the password', async () => {
    const port = await portThat((socket) =>
      socket.on('data', () =>
        socket.write("-ERR unknown command 'HELLO', with args beginning with: 'AUTH' 'canary'\r\n"),
      ),
    );
    const told = await limitsAt(`redis://:canary@127.0.0.1:${port}`);
    expect(told).toMatch(/Redis says: ERR unknown command\./);
  });
});
