/** The cause that the doctor names if Redis counts no limits (reference §13.3). */
import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { rateLimits } from '../../src/commands/doctor/redis-check.ts';
import { redisAnswers, redisUrl } from '../support/databases.ts';
import { freePort } from '../support/free-port.ts';
import { examine, portBesideTls, portThat } from './examine.ts';

/** Returns the finding about a Redis that counts nothing, without the sentence that all such findings begin with. */
async function causeAt(REDIS_URL: string): Promise<string> {
  const [finding] = await examine({ REDIS_URL }, [rateLimits]);
  expect(finding?.outcome).toBe('failed');
  const [, cause] = finding?.told.split('Each instance counts its own limits. ') ?? [];
  return cause ?? expect.fail(finding?.told);
}

const WITHOUT_TLS = 'The port does not support TLS. Replace rediss:// with redis:// in REDIS_URL, or correct the port.';
const WITH_TLS =
  'The port expects TLS from the first byte. Replace redis:// with rediss:// in REDIS_URL, or correct the port.';
const USER = 'Correct the user, the password or the number of the database in REDIS_URL.';

/** Answers each command with the line that `answerTo` returns for it. */
const answering = (answerTo: (command: string) => string) => (socket: Socket) =>
  socket.on('data', (data) => {
    const commands = data.toString().split(/^\*/m).slice(1);
    socket.write(commands.map((command) => `${answerTo(command)}\r\n`).join(''));
  });

describe.runIf(redisAnswers)('doctor, beside a real Redis', () => {
  test('reports that Redis counts the limits', async () => {
    expect(await examine({ REDIS_URL: redisUrl }, [rateLimits])).toEqual([
      { outcome: 'ok', told: 'Redis counts the limits.' },
    ]);
  });

  test('quotes the error text of Redis', async () => {
    const url = new URL(redisUrl);
    url.pathname = '/9999';
    expect(await causeAt(url.href)).toBe(`Redis says: ERR DB index is out of range. ${USER}`);
  });

  test('suggests redis:// if the port behind rediss:// has no TLS', async () => {
    expect(await causeAt(redisUrl.replace(/^redis:/, 'rediss:'))).toBe(WITHOUT_TLS);
  });
});

describe.concurrent('doctor, Redis that fails', () => {
  test('suggests rediss:// if the port behind redis:// uses TLS', async () => {
    expect(await causeAt(`redis://127.0.0.1:${await portThat(() => {}, true)}`)).toBe(WITH_TLS);
  });

  test('suggests rediss:// if the port behind redis:// uses TLS and ends other connections', async () => {
    const port = await portBesideTls((socket) => socket.resetAndDestroy());
    expect(await causeAt(`redis://127.0.0.1:${port}`)).toBe(WITH_TLS);
  });

  test.each([
    ['rediss', WITHOUT_TLS],
    [
      'redis',
      'The server closed the connection without an answer. See the log of the server, and check the port in REDIS_URL.',
    ],
  ])('says of a port behind %s:// that answers a PING and ends other connections: %s', async (scheme, words) => {
    const port = await portThat((socket) =>
      socket.on('data', (data) => {
        if (data.toString() === 'PING\r\n') socket.write('+PONG\r\n');
        else socket.resetAndDestroy();
      }),
    );
    expect(await causeAt(`${scheme}://127.0.0.1:${port}`)).toBe(words);
  });

  test('names a certificate that is not trusted, though the port answers without TLS', async () => {
    const port = await portBesideTls((socket) => socket.end(Buffer.from('15030100020246', 'hex')));
    expect(await causeAt(`rediss://127.0.0.1:${port}`)).toBe(
      'This machine does not trust the certificate of the server. Set NODE_EXTRA_CA_CERTS in the environment (not in .env) to a PEM file of the certificate authority, or make the server send its whole chain.',
    );
  });

  test.each(['redis', 'rediss'])('says that no Redis answers if the port behind %s:// is silent', async (scheme) => {
    const port = await portThat(() => {});
    expect(await causeAt(`${scheme}://127.0.0.1:${port}`)).toBe(
      'No Redis answers at this address. Check host and port in REDIS_URL.',
    );
  });

  test('says that Redis does not count if its user may not run scripts', async () => {
    const port = await portThat(
      answering((command) => (/eval/i.test(command) ? '-NOPERM no scripts' : /ping/i.test(command) ? '+PONG' : '+OK')),
    );
    expect(await causeAt(`redis://127.0.0.1:${port}`)).toBe(
      'Redis answers, but does not count. See the log of Redis. This user must be allowed to run scripts (eval, evalsha).',
    );
  });

  test('names a closed port', async () => {
    expect(await causeAt(`redis://127.0.0.1:${await freePort()}`)).toBe(
      'Nothing listens at this address. Start the server, or correct the host and the port in REDIS_URL.',
    );
  });

  test.each([
    ["ERR unknown command 'HELLO', with args beginning with: 'AUTH' 'canary'", 'ERR unknown command'],
    ['ERR unknown command , with args beginning with: `canary`', 'ERR unknown command'],
    ['NOAUTH Authentication required.', 'NOAUTH Authentication required'],
    ['ERR a.b \u0085c', 'ERR a.b \\u0085c'],
  ])('quotes “%s” without the arguments of the command', async (error, quoted) => {
    const port = await portThat(answering(() => `-${error}`));
    expect(await causeAt(`redis://:canary@127.0.0.1:${port}`)).toBe(`Redis says: ${quoted}. ${USER}`);
  });
});
