/** Addresses with a secret, as chat and mail programs change them (reference §3.10). */
import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { secretOf } from '../../src/confirmations/tokens.ts';
import { newToken } from '../../src/console/links.ts';
import { TOKEN_BYTES } from '../../src/newsletter/subscribers.ts';
import { linkSecretIn } from '../../src/server/secret-paths.ts';
import { lookAt, openPage, pending, pressButton, tokenIn } from '../confirmations/rig.ts';
import { linkFor, operatorWith, startWithConsole } from '../console/operator.ts';
import { newSubscriber, rowOf } from '../newsletter/rig.ts';
import { call } from '../support/agent.ts';
import type { Service } from '../support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startWithConsole({ environment: { UPSTREAM_URL: 'inbox:' } });
});
afterAll(() => service.close());

describe('secret in a path', () => {
  const made: [string, () => string, number][] = [
    ['of a confirmation', () => secretOf(randomUUID(), randomBytes(40).toString('base64url')), 22],
    ['of a subscriber', () => randomBytes(TOKEN_BYTES).toString('base64url'), 22],
    ['of a sign-in link', newToken, 22],
  ];
  test.each(made)('%s ends with a letter or digit in 2,000 samples', (_name, make, length) => {
    const wrong = Array.from({ length: 2_000 }, make).filter(
      (secret) => secret.length !== length || !/^[\w-]*[A-Za-z0-9]$/.test(secret),
    );
    expect(wrong).toEqual([]);
  });

  test.each([
    ['abcdef', 'abc'],
    ['ab-_def', 'abd'],
    ['__-_x', '__x'],
  ])('linkSecretIn skips - and _ at the end: from %s it returns %s', (text, secret) => {
    expect(linkSecretIn(text, 3)).toBe(secret);
  });
});

const signs = [
  ...['.', ',', ';', ':', '!', ')', ']', '>', '*', '_', '"', "'"],
  ...['“', '”', '„', '‘', '’', '‚', '«', '»', '‹', '›', '\u200b'],
];
/** Signs after a secret: raw, percent-encoded, and several at once. */
const behind = [
  ...signs.map((sign) => encodeURI(sign)),
  ...signs.map((sign) => [...Buffer.from(sign)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')),
  '.)',
  '**.',
  '%22%29%2E',
  '%E2%80%8B_',
];

const pages: [string, () => Promise<string>, number][] = [
  ['a confirmation', async () => (await pending(service)).path, 200],
  ['an unknown confirmation', async () => `/confirm/${'A'.repeat(22)}`, 404],
  ['a subscriber', async () => `/newsletter/confirm/${(await newSubscriber(service)).confirm_token}`, 200],
  ['an unknown subscriber', async () => `/newsletter/confirm/${'A'.repeat(22)}`, 404],
  ['an unsubscribe page', async () => `/newsletter/leave/${(await newSubscriber(service)).leave_token}`, 200],
  ['an unknown unsubscribe page', async () => '/newsletter/leave/x', 200],
  ['a sign-in page', () => linkFor(service), 200],
  ['an unknown sign-in page', async () => '/operator/sign-in/x', 200],
];

describe('punctuation after a secret', () => {
  test.each(pages)('redirects to the address of %s without the punctuation', async (_name, pathOf, status) => {
    const path = await pathOf();
    for (const sign of behind) {
      for (const method of sign === '.' ? ['GET', 'HEAD'] : ['GET']) {
        const { status, headers } = await call(service, `${path}${sign}`, { method });
        expect([sign, status, headers.get('location')]).toEqual([sign, 303, path]);
        expect([headers.get('cache-control'), headers.get('x-robots-tag')]).toEqual(['no-store', 'noindex']);
      }
    }
    expect((await openPage(service, path)).status).toBe(status);
  });

  test('returns 404 for a character that the service does not remove', async () => {
    for (const end of ['-', 'x', '%3F', '%2F', '(', '%00']) {
      const answer = await openPage(service, `/confirm/${'A'.repeat(22)}${end}`);
      expect([end, answer.status]).toEqual([end, 404]);
    }
  });

  test.each([
    '%2F%2Fevil.example.',
    'a%2F%2Fevil.example.',
    '%0d%0aX:1.',
    '%5C%5Cevil.',
    '..%2F.',
    '%22%3E%3Cb%3E',
    '...',
  ])('returns no redirect for %s, which is not a secret', async (value) => {
    const answers = await Promise.all(
      [`/confirm/${value}`, `/newsletter/leave/${value}`].map((path) => openPage(service, path)),
    );
    expect(answers.map(({ status }) => status)).toEqual([404, 200]);
  });

  test('redirects if a slash follows the punctuation', async () => {
    const { path } = await pending(service);
    const first = await openPage(service, `${path}./`);
    expect([first.status, first.headers.get('location')]).toEqual([308, `${path}.`]);
  });
});

describe('form post to an address with punctuation after the secret', () => {
  test('confirms a pending request, and redirects to the address without the punctuation', async () => {
    const { id, path } = await pending(service);
    const token = tokenIn((await openPage(service, path)).text) ?? '';
    const answer = await pressButton(service, `${path}%22.`, 'send', { token });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, path]);
    expect((await lookAt(service, id)).body.confirmation.status).toBe('submitted');
  });

  test('confirms a subscription, and unsubscribes', async () => {
    const { email, confirm_token, leave_token } = await newSubscriber(service);
    const confirmed = await call(service, `/newsletter/confirm/${confirm_token}).`);
    expect([confirmed.status, confirmed.headers.get('location')]).toEqual([
      303,
      `/newsletter/confirm/${confirm_token}`,
    ]);
    await call(service, `/newsletter/leave/${leave_token}%E2%80%9D`);
    expect(await rowOf(service, email)).toMatchObject({ status: 'unsubscribed' });
  });

  test('signs the operator in', async () => {
    const answer = await operatorWith(service, '').press(`${await linkFor(service)}*`, {});
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/operator']);
  });
});

test('logs contain no secret of a path', async () => {
  const { path } = await pending(service);
  await openPage(service, `${path}.`);
  await openPage(service, `${path}/`);
  expect(service.logs.join('\n')).not.toContain(path.slice(-22));
});
