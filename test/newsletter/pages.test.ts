import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { encode, encodings, multipart } from '../support/forms.ts';
import { scenario } from '../support/scenario.ts';
import { freshAddress } from '../support/service.ts';
import { until } from '../support/until.ts';
import { ask, confirm, leave, newSubscriber, rowOf } from './rig.ts';

const at = scenario();
const NOBODY = 'AAAAAAAAAAAAAAAAAAAAAA';

/** Content types of a one-click request: those that RFC 8058 allows, and JSON. */
const types = {
  json: 'application/json',
  urlencoded: 'application/x-www-form-urlencoded',
  multipart: 'multipart/form-data; boundary=----boundary-of-the-tests',
};
const oneClick = { 'List-Unsubscribe': 'One-Click' };

describe('/newsletter/confirm/:token (reference §9.5)', () => {
  test('shows the sender and the masked address, with one button and no script', async () => {
    const row = await newSubscriber(at.service);
    const answer = await ask(at.service, 'confirm', row.confirm_token);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'cache-control': 'no-store',
      'x-robots-tag': 'noindex',
      'referrer-policy': expect.stringMatching(/no-referrer|same-origin|strict-origin/),
      'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
    });
    const html = await answer.text();
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(html).toContain('Paint Match');
    expect(html).toContain('r•••@e•••.com');
    // The address is deleted seven days after 1 September.
    expect(html).toMatch(/We delete the address after \D*September 8, 2026/);
    expect(html).not.toContain(row.email);
    expect(html).not.toContain('<script');
    expect(html.match(/<button/g)).toHaveLength(1);
    expect(/<title>(.*?)<\/title>/.exec(html)?.[1]).not.toContain(row.confirm_token);
  });

  test('returns the same 404 page for unknown, misspelt, expired and erased tokens, on GET and POST', async () => {
    const [gone, old] = [await newSubscriber(at.service), await newSubscriber(at.service)];
    const { storage } = at.service.parts;
    const expires_at = at.clock.now().toISOString();
    await storage.write(async (tx) => {
      await tx.deleteFrom('subscribers').where('id', '=', gone.id).execute();
      await tx.updateTable('subscribers').set({ expires_at }).where('id', '=', old.id).execute();
    });
    const tokens = [NOBODY, 'x', '%00', gone.confirm_token, old.confirm_token, old.leave_token];
    const answers = await Promise.all(
      tokens.flatMap((token) =>
        ['GET', 'POST'].map(async (method) => {
          const answer = await ask(at.service, 'confirm', token, { method });
          return `${answer.status} ${answer.headers.get('retry-after')} ${await answer.text()}`;
        }),
      ),
    );
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toMatch(/^404 null .*There is no subscription to confirm at this address/s);
    expect(answers[0]).toMatch(/<a [^>]*href="\/newsletter">To the newsletter<\/a>/);
  });

  test('returns 429 with Retry-After after 30 requests a minute from one address', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    const { confirm_token: token } = await newSubscriber(at.service);
    const asked = Array.from({ length: 31 }, () => ask(at.service, 'confirm', token, { headers }));
    const answers = await Promise.all(asked);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(1);
    expect(refused[0]?.headers.get('retry-after')).toMatch(/^\d+$/);
    const page = await refused[0]?.text();
    expect(page).toContain('Wait 1 minute, then open the link again.');
    expect(page).not.toContain('To the newsletter');
    expect(page).toContain('<meta name="robots" content="noindex">');
    const pressed = await ask(at.service, 'confirm', token, { headers, method: 'POST' });
    expect(pressed.status).toBe(429);
    expect((await ask(at.service, 'leave', token, { headers })).status).toBe(200);
  });

  test('says "You are subscribed" after a confirmation, and "You are unsubscribed" after an unsubscribe', async () => {
    const row = await newSubscriber(at.service);
    const shown = async () => (await ask(at.service, 'confirm', row.confirm_token)).text();
    const pressed = await confirm(at.service, row);
    expect(pressed.headers.get('cache-control')).toBe('no-store');
    expect(await shown()).toContain('You are subscribed');
    const leftNow = await (await leave(at.service, row)).text();
    expect(leftNow).toMatch(/We send no more updates from \W*Paint Match\W* to this address\./);
    const left = await shown();
    expect(left).toContain('You are unsubscribed');
    expect(left).toMatch(/<a [^>]*href="\/newsletter">To the newsletter<\/a>/);
    expect(left).not.toContain('<button');
  });
});

describe('/newsletter/leave/:token (RFC 8058, reference §9.6)', () => {
  test('returns the same page without an address for every token, known or unknown', async () => {
    const row = await newSubscriber(at.service);
    const asked = [row.leave_token, NOBODY, row.confirm_token, 'x', '%22%3E%3Cscript%3E'];
    const answers = await Promise.all(asked.map((token) => ask(at.service, 'leave', token)));
    const pages = await Promise.all(answers.map((answer) => answer.text()));
    expect(new Set(pages).size).toBe(1);
    expect(answers.map(({ status }) => status)).toEqual(asked.map(() => 200));
    expect(pages[0]).not.toMatch(/reader|@e|<script/);
  });

  test.each(encodings)('unsubscribes with one %s request without headers of a browser', async (encoding) => {
    const row = await newSubscriber(at.service);
    const body = encode(encoding, oneClick);
    const headers = { 'content-type': types[encoding] };
    const answer = await ask(at.service, 'leave', row.leave_token, {
      method: 'POST',
      headers,
      body,
    });
    expect(answer.status).toBe(200);
    expect((await rowOf(at.service, row.email))?.status).toBe('unsubscribed');
  });

  test.each<[string, RequestInit]>([
    ['no body and no content type', {}],
    ['an invalid content type', { headers: { 'content-type': 'nonsense' }, body: 'x' }],
    ['another charset', { headers: { 'content-type': 'text/plain; charset=latin1' }, body: 'x' }],
    ['a content coding', { headers: { 'content-encoding': 'br' }, body: 'x' }],
    ['more than 8,000 bytes', { body: 'x'.repeat(100_000) }],
    ['a file', { body: multipart([['f', 'x', 'Content-Disposition: form-data; name="f"; filename="f"']]) }],
    [
      'another origin, a cookie and a signature of an agent',
      {
        headers: {
          origin: 'https://mail.example',
          cookie: 'a=b',
          'sec-fetch-site': 'cross-site',
          'signature-agent': '"x"',
        },
      },
    ],
  ])('unsubscribes although the request has %s', async (_what, init) => {
    const row = await newSubscriber(at.service);
    const answer = await ask(at.service, 'leave', row.leave_token, { method: 'POST', ...init });
    expect([answer.status, answer.headers.get('location')]).toEqual([200, null]);
    expect((await rowOf(at.service, row.email))?.status).toBe('unsubscribed');
  });

  test('unsubscribes before the request body has ended', async () => {
    const row = await newSubscriber(at.service);
    const headers = { 'content-length': 10 };
    const url = `${at.service.url}/newsletter/leave/${row.leave_token}`;
    const asking = request(url, { method: 'POST', headers }).on('error', () => {});
    asking.write('x');
    await until(async () => (await rowOf(at.service, row.email))?.status === 'unsubscribed');
    asking.destroy();
  });

  test('returns the same 200 to a hundred requests from one address, for known and unknown tokens', async () => {
    const row = await newSubscriber(at.service);
    const headers = { 'x-forwarded-for': freshAddress() };
    const tokens = [row.leave_token, NOBODY, ...Array(98).fill(row.leave_token)];
    const answers = await Promise.all(
      tokens.map(async (token) => {
        const answer = await ask(at.service, 'leave', token, { method: 'POST', headers });
        return `${answer.status} ${await answer.text()}`;
      }),
    );
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toMatch(/^200 /);
  });
});

test('changes no subscriber when a scanner requests both links with GET, HEAD, OPTIONS, PUT and DELETE', async () => {
  const row = await newSubscriber(at.service);
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']) {
    await ask(at.service, 'confirm', row.confirm_token, { method });
    await ask(at.service, 'leave', row.leave_token, { method });
  }
  expect(await rowOf(at.service, row.email)).toEqual(row);
});

test('logs neither the address nor a token after a confirmation and an unsubscribe', async () => {
  const row = await newSubscriber(at.service);
  await confirm(at.service, row);
  await leave(at.service, row);
  await at.service.parts.subscriptionLinks.close();
  const lines = at.service.logs.join('\n');
  expect(lines).toContain('subscriber status changed');
  for (const secret of [row.email, row.confirm_token, row.leave_token]) {
    expect(lines).not.toContain(secret);
  }
});
