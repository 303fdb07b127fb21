/** The cause that the doctor names if the receiver does not confirm the test event (reference §13.3). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { wallClock } from '../../src/commands/doctor/local-checks.ts';
import { upstream } from '../../src/commands/doctor/upstream-check.ts';
import { cert } from '../support/certificate.ts';
import { testClock } from '../support/clock.ts';
import { freePort } from '../support/free-port.ts';
import { atEndOfFile } from '../support/leftovers.ts';
import { startTlsReceiver } from '../support/tls-receiver.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { examine, portBesideTls, portThat } from './examine.ts';
import { runService, temporaryFolder } from './run-service.ts';

/** Starts a receiver, which ends with the test file. */
async function receiverThat(answer: ProgrammableUpstream['answer']) {
  const receiver = await startUpstream();
  atEndOfFile(receiver.close);
  receiver.answer = answer;
  return receiver;
}

const upstreamAt = async (UPSTREAM_URL: string, environment: Record<string, string> = {}) =>
  (await examine({ UPSTREAM_URL, ...environment }, [upstream]))[0] ?? expect.fail();

const WITH_TLS =
  'The port expects TLS from the first byte. Replace http:// with https:// in UPSTREAM_URL, or correct the port.';

describe('doctor, receiver that answers', () => {
  const secret = `whsec_${Buffer.alloc(32, 'k').toString('base64')}`;

  test('gets a signed test event with the headers of UPSTREAM_HEADERS', async () => {
    const { url, delivered } = await receiverThat((response, { headers }) =>
      response.writeHead(headers.authorization === 'Bearer canary' ? 204 : 401).end(),
    );
    const headers = { UPSTREAM_HEADERS: 'Authorization: Bearer canary', UPSTREAM_SECRET: secret };
    expect(await upstreamAt(url, headers)).toEqual({ outcome: 'ok', told: 'Test event ID was delivered.' });
    const [event] = delivered;
    expect(() => new Webhook(secret).verify(event?.body ?? '', Object(event?.headers))).not.toThrow();
    // The mark keeps receivers from creating a lead.
    expect(event?.event.data).toMatchObject({
      ...{ form: 'contact', origin: 'browser', test: true },
      fields: {
        name: 'Doctor',
        email: 'doctor@example.com',
        subject: 'Test event',
        message: 'Test event of `npm run doctor`. No person sent it.',
      },
    });
  });

  test('gives a warning if the event is unsigned', async () => {
    const { url } = await receiverThat((response) => response.end());
    expect(await upstreamAt(url)).toEqual({
      outcome: 'warning',
      told: 'Test event ID was delivered. Forwarded submissions are not signed. Set UPSTREAM_SECRET, so that the receiver can verify the sender.',
    });
  });

  test('gets nothing with --no-send', async () => {
    const { url, delivered } = await receiverThat((response) => response.end());
    const environment = { UPSTREAM_URL: url, UPSTREAM_SECRET: secret };
    const [finding] = await examine(environment, [upstream], { send: false });
    expect([finding, delivered]).toEqual([{ outcome: 'off', told: 'Not tested, because of --no-send.' }, []]);
  });

  test('fails if the embedded inbox can’t use its database', async () => {
    expect(await examine({ DATABASE_URL: 'postgres://127.0.0.1:1/none' }, [upstream])).toEqual([
      { outcome: 'failed', told: 'This check failed (StorageUnavailable). Check UPSTREAM_URL and the database.' },
    ]);
  });

  test('gets nothing in production without UPSTREAM_URL', async () => {
    const contractor = { CONTRACTOR_ID: 'c-1', CONTRACTOR_NAME: 'Painters' };
    expect(await examine({ NODE_ENV: 'production', BASE_URL: 'https://x.example', ...contractor }, [upstream])).toEqual(
      [{ outcome: 'warning', told: 'The service answers submissions with 503. Set UPSTREAM_URL.' }],
    );
  });

  test.each([
    [400, 'The receiver refuses the event. See the log'],
    [401, 'The receiver refuses this service. Put the headers'],
    [429, 'The receiver accepts no more requests right now. Wait a minute'],
    [500, 'The receiver failed. See the log'],
    [302, 'Redirects are never followed. Set UPSTREAM_URL'],
  ])('names the cause and the remedy of an answer with status %i', async (status, words) => {
    const { url } = await receiverThat(answering(status, { location: 'https://canary.example/', 'retry-after': '5' }));
    const { outcome, told } = await upstreamAt(url);
    expect([outcome, told.startsWith(`Test event ID got status ${status}. ${words}`)]).toEqual(['failed', true]);
  });

  test.each([
    [302, 'warning'],
    [303, 'warning'],
    [307, 'failed'],
  ])('with UPSTREAM_REDIRECT=confirmed, reports status %i as %s', async (status, outcome) => {
    const { url } = await receiverThat(answering(status, { location: 'https://canary.example/' }));
    // The warning is about the missing signature.
    expect(await upstreamAt(url, { UPSTREAM_REDIRECT: 'confirmed' })).toMatchObject({ outcome });
  });
});

describe('doctor, receiver that gives no answer', () => {
  const causeAt = async (url: string, environment: Record<string, string> = {}) => {
    const { outcome, told } = await upstreamAt(url, environment);
    expect([outcome, told.slice(0, 32)]).toEqual(['failed', 'Test event ID is not confirmed (']);
    return told.slice(31);
  };

  test('names a closed port', async () => {
    expect(await causeAt(`http://127.0.0.1:${await freePort()}/`)).toBe(
      '(ECONNREFUSED). Nothing listens at this address. Start the server, or correct the host and the port in UPSTREAM_URL.',
    );
  });

  test('names a host that does not resolve', async () => {
    expect(await causeAt('https://no-such-host.invalid/')).toMatch(
      /^\(E\w+\)\. The name of the host can’t be resolved\. Correct the host in UPSTREAM_URL/,
    );
  });

  test('reports a certificate that is not trusted, and accepts the certificate with NODE_EXTRA_CA_CERTS', async () => {
    const receiver = await startTlsReceiver();
    atEndOfFile(receiver.close);
    expect(await causeAt(receiver.url)).toContain('does not trust the certificate of the server. Set NODE_EXTRA_CA_');
    const folder = temporaryFolder();
    const path = join(folder, 'ca.pem');
    writeFileSync(path, cert);
    // Node.js reads this variable at the start of the process.
    const environment = { DATA_DIR: join(folder, 'data'), UPSTREAM_URL: receiver.url, NODE_EXTRA_CA_CERTS: path };
    const { stdout } = await runService(['doctor'], { environment });
    expect(stdout).toMatch(/^warning {2}upstream {6}Test event \S+ was delivered\./m);
  });

  test('suggests http:// if the port behind https:// has no TLS', async () => {
    const { url } = await receiverThat((response) => response.end());
    expect(await causeAt(url.replace('http:', 'https:'))).toMatch(
      /^\(ERR_SSL_\w+\)\. The port does not support TLS\. Replace https:\/\/ with http:\/\/ in UPSTREAM_URL, or correct/,
    );
  });

  test('suggests https:// if the port behind http:// uses TLS', async () => {
    const port = await portThat(() => {}, true);
    expect(await causeAt(`http://127.0.0.1:${port}/`)).toMatch(new RegExp(`^\\(\\w+\\)\\. ${WITH_TLS}$`));
  });

  test('suggests https:// if the port answers HTTP with an alert of TLS', async () => {
    const port = await portBesideTls((socket) => socket.end(Buffer.from('15030100020246', 'hex')));
    expect(await causeAt(`http://127.0.0.1:${port}/`)).toBe(`(HTTPParserError). ${WITH_TLS}`);
  });

  test.each([
    [400, WITH_TLS],
    [404, 'There is nothing at this address.'],
  ])('looks for TLS if the port answers HTTP with status 400 only: %i', async (status, words) => {
    const port = await portBesideTls((socket) => socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`));
    const { told } = await upstreamAt(`http://127.0.0.1:${port}/`);
    expect(told).toContain(`Test event ID got status ${status}. ${words}`);
  });

  test('says that an answer can’t be read if it is not HTTP', async () => {
    const port = await portThat((socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'));
    expect(await causeAt(`http://127.0.0.1:${port}/`)).toBe(
      '(HTTPParserError). The answer of the receiver can’t be read. See the log of the receiver, and check UPSTREAM_URL.',
    );
  });

  test('names UPSTREAM_TIMEOUT_MS if the receiver does not answer within that time', async () => {
    const port = await portThat(() => {});
    expect((await upstreamAt(`http://127.0.0.1:${port}/`, { UPSTREAM_TIMEOUT_MS: '200' })).told).toBe(
      'Test event ID is not confirmed. The receiver did not answer within 200 ms. Make the receiver answer before it processes the event, or raise UPSTREAM_TIMEOUT_MS (at most 60000).',
    );
  });

  test('says that nothing answers if the handshake of TLS does not end', async () => {
    const port = await portThat(() => {});
    expect((await upstreamAt(`https://127.0.0.1:${port}/`, { UPSTREAM_TIMEOUT_MS: '200' })).told).toBe(
      'Test event ID is not confirmed. Nothing answers at this address. Correct the host and the port in UPSTREAM_URL, or open the firewall.',
    );
  });
});

describe('doctor, clock compared with the upstream’s', () => {
  async function clockBeside(date: string | undefined, status = 200, folder = join(temporaryFolder(), 'data')) {
    const { url } = await receiverThat((response) => {
      response.sendDate = false;
      if (date !== undefined) response.setHeader('date', date);
      response.writeHead(status).end();
    });
    const environment = { UPSTREAM_URL: url, DATA_DIR: folder };
    const [, clock] = await examine(environment, [upstream, wallClock], { clock: testClock() });
    return clock ?? expect.fail();
  }
  const time = 'The time is 2026-09-01T12:00:00.000Z';
  const off = (seconds: number) => new Date(Date.parse('2026-09-01T12:00:00Z') + seconds * 1000).toUTCString();
  const NTP = 'Set the clock of this machine, and synchronize it with NTP, because events and previews depend on it.';
  const REFUSED = `Receivers refuse a difference of more than 5 minutes. ${NTP}`;

  test.each([
    [0, 'ok', '0 s ahead of', ''],
    [60, 'ok', '60 s behind', ''],
    [-60, 'ok', '60 s ahead of', ''],
    [61, 'warning', '61 s behind', ` ${NTP}`],
    [-300, 'warning', '300 s ahead of', ` ${NTP}`],
    [301, 'failed', '301 s behind', ` ${REFUSED}`],
    [-3 * 86_400, 'failed', '259200 s ahead of', ` ${REFUSED}`],
  ])('reports a difference of %i s as %s', async (seconds, outcome, difference, rest) => {
    const told = `${time}, ${difference} the upstream’s clock.${rest}`;
    expect(await clockBeside(off(seconds))).toEqual({ outcome, told });
  });

  test('is compared even if the upstream refuses the event', async () => {
    expect((await clockBeside(off(900), 401)).outcome).toBe('failed');
  });

  test.each([undefined, 'yesterday, about three'])('ignores the missing or invalid Date header %j', async (date) => {
    expect(await clockBeside(date)).toEqual({
      outcome: 'ok',
      told: `${time}. There is no upstream time to compare with.`,
    });
  });
});
