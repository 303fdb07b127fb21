/**
 * Attacks that guess the address of a confirmation's page, or the mailed code (ASVS 6.6.3, 7.2.3). `GUESSES=1000000` tries
 * as many guesses as there are codes of six digits. A run of CI tries fewer.
 */
import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lookAt, pending, pressButton } from '../../confirmations/rig.ts';
import { type MailServer, startMailServer } from '../../mail/mail-server.ts';
import { freshAddress, type Service, startService } from '../../support/service.ts';
import { type ProgrammableUpstream, startUpstream } from '../../support/upstream.ts';

const GUESSES = Number(process.env.GUESSES ?? 5_000);
const AT_ONCE = 64;
const PENDING = 10;
const ONE_HOUR_MS = 3_600_000;
/** Without `-` and `_`, because a link never ends in them and the service removes them there (reference §3.10). */
const SECRET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789AB';

const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

let upstream: ProgrammableUpstream;
let mail: MailServer;
let service: Service;
beforeAll(async () => {
  upstream = await startUpstream();
  mail = await startMailServer();
  service = await startService({
    environment: { UPSTREAM_URL: upstream.url, SMTP_URL: mail.url, LOG_LEVEL: 'silent' },
  });
});
afterAll(async () => {
  agent.destroy();
  await service.close();
  await mail.close();
  await upstream.close();
});

type Told = { status: number; text: string };

/** Sends a request from an address of its own. */
function send(path: string, body: string | undefined): Promise<Told> {
  const headers = {
    'x-forwarded-for': freshAddress(),
    'sec-fetch-site': 'same-origin',
    ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
  };
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const sending = request(`${service.url}${path}`, { agent, method, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part) => {
        text += part;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    sending.on('error', reject);
    sending.end(body);
  });
}

/** Returns how often each status came, and how many answers contained the forbidden text. */
async function flood(
  guess: (n: number) => { path: string; body?: string },
  mustNotSay: string,
): Promise<{ statuses: Record<number, number>; told: number }> {
  const statuses: Record<number, number> = {};
  let told = 0;
  let n = 0;
  const work = async () => {
    while (n < GUESSES) {
      const { path, body } = guess(n++);
      const { status, text } = await send(path, body);
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (text.includes(mustNotSay)) told += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { statuses, told };
}

const fieldsOf = (email: string) => ({ name: 'Canary', email, subject: 'B', message: 'C' });

const statusesOf = (all: { id: string }[]) =>
  Promise.all(all.map(async ({ id }) => (await lookAt(service, id)).body.confirmation.status));

const drawn = (length: number) => Array.from(randomBytes(length), (byte) => SECRET[byte & 63]).join('');

test(
  'guessed secrets: show no page, send nothing and end no confirmation',
  async () => {
    const all = await Promise.all(
      Array.from({ length: PENDING }, (_, n) =>
        pending(service, { action: 'contact', fields: fieldsOf(`secret${n}@example.com`) }),
      ),
    );
    const buttons = ['send', 'decline', 'report', 'code', 'check'];
    const { statuses, told } = await flood((n) => {
      const real = all[n % all.length]?.path.slice('/confirm/'.length) ?? '';
      // Half of the guesses are a real secret with its beginning or its end replaced.
      const near = n % 4 === 0 ? real.slice(0, 11) + drawn(11) : drawn(11) + real.slice(11);
      const path = `/confirm/${n % 2 === 0 ? near : drawn(22)}`;
      return n % 3 === 0 ? { path } : { path, body: `do=${buttons[n % buttons.length]}&token=x` };
    }, 'Canary');
    expect({ statuses, told }).toEqual({ statuses: { 404: GUESSES }, told: 0 });
    expect(new Set(await statusesOf(all))).toEqual(new Set(['pending']));
    expect(upstream.delivered).toEqual([]);
  },
  ONE_HOUR_MS,
);

test(
  'guessed codes: the fifth wrong code ends a confirmation, and no guess shows its values',
  async () => {
    const all = await Promise.all(
      Array.from({ length: PENDING }, (_, n) =>
        pending(service, {
          action: 'contact',
          fields: fieldsOf(`code${n}@example.com`),
          via: 'page_email',
        }),
      ),
    );
    for (const { path } of all) {
      expect((await pressButton(service, path, 'code')).status).toBe(303);
    }
    await expect.poll(() => mail.received.length, { timeout: 10_000 }).toBe(PENDING);
    const codes = new Set(mail.received.map(({ raw }) => /\b(\d{6})\b/.exec(raw)?.[1]));
    const { statuses, told } = await flood((n) => {
      const { path = '' } = all[n % all.length] ?? {};
      let code = String(n).padStart(6, '0');
      // A chance hit would prove nothing, because five of a million are allowed.
      while (codes.has(code)) code = String((Number(code) + 1) % 1_000_000).padStart(6, '0');
      return { path, body: `do=check&code=${code}` };
    }, 'Canary');
    expect(told).toBe(0);
    // Four answers state the remaining tries. The fifth ends the confirmation, and later ones redirect to its page.
    expect(statuses).toEqual({ 200: 4 * PENDING, 303: GUESSES - 4 * PENDING });
    expect(new Set(await statusesOf(all))).toEqual(new Set(['expired']));
    expect(upstream.delivered).toEqual([]);
  },
  ONE_HOUR_MS,
);
