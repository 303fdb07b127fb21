import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { openDoubleClicks } from '../../src/intake/double-click.ts';
import type { FormResult } from '../../src/intake/leads.ts';
import { testClock } from '../support/clock.ts';
import { post } from '../support/forms.ts';
import { scenario } from '../support/scenario.ts';
import { freshAddress } from '../support/service.ts';
import { answering } from '../support/upstream.ts';

const at = scenario();
const quote = {
  form: 'homeowner_quote',
  name: 'Ada',
  email: 'ada@example.com',
  postal_code: '94110',
};

/** Headers of a browser that submits a form from a page of the same site. */
const browser = () => ({
  'x-forwarded-for': freshAddress(),
  'sec-fetch-mode': 'navigate',
  'sec-fetch-site': 'same-origin',
});

type Sent = { status: number | undefined; text: string };

/** Sends with node:http, because `fetch` always identifies itself as a script. */
function send(
  headers: Record<string, string>,
  fields: Record<string, string> = quote,
  path = '/api/leads',
  localAddress = '127.0.0.1',
): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    const sent = request(`${at.service.url}${path}`, {
      method: 'POST',
      localAddress,
      headers: { ...type, ...headers },
    });
    sent.on('error', reject);
    sent.on('response', async (response) => {
      const text = (await response.toArray()).join('');
      resolve({ status: response.statusCode, text });
    });
    sent.end(new URLSearchParams(fields).toString());
  });
}

describe('double click on a form without JavaScript', () => {
  test('forwards and counts once if the second click comes during the first, and redirects both clicks', async () => {
    const headers = browser();
    const waiting: (() => void)[] = [];
    at.upstream.answer = (response) => waiting.push(() => response.writeHead(200).end());
    const [first, second] = await at.expecting({ forwarded: 1 }, async () => {
      const both = [send(headers), send(headers)];
      while (waiting.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      for (const answer of waiting) answer();
      return await Promise.all(both);
    });
    expect([first?.status, second?.status]).toEqual([303, 303]);
    at.upstream.answer = answering(200);
    const others = [];
    for (let n = 2; n <= 6; n += 1) {
      others.push((await send(headers, { ...quote, name: `Grace ${n}` })).status);
    }
    expect(others).toEqual([303, 303, 303, 303, 429]);
  });

  test('redirects a second click without a delivery for ten seconds after the first click was confirmed', async () => {
    const headers = browser();
    await at.expecting({ forwarded: 1 }, async () => {
      await send(headers);
      at.clock.advance(9_999);
      expect((await send(headers)).status).toBe(303);
    });
    at.clock.advance(2);
    await at.expecting({ forwarded: 1 }, () => send(headers));
  });

  test('returns one failure to both clicks, and forwards a submission of the failure page at once', async () => {
    const headers = browser();
    const waiting: (() => void)[] = [];
    at.upstream.answer = (response) => waiting.push(() => response.writeHead(500).end());
    const page = await at.expecting({ forwarded: 1 }, async () => {
      const both = [send(headers), send(headers)];
      while (waiting.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      for (const answer of waiting) answer();
      const [first, second] = await Promise.all(both);
      expect(first?.status).toBe(502);
      return second ?? expect.fail();
    });
    expect(page.status).toBe(502);
    at.upstream.answer = answering(200);
    const [, again = ''] = /name="send-again" value="([^"]+)"/.exec(page.text) ?? [];
    const retried = await at.expecting({ forwarded: 1 }, () => send(headers, { ...quote, 'send-again': again }));
    expect(retried.status).toBe(303);
  });

  test('forwards and counts the same form again if its first submission was refused', async () => {
    const headers = browser();
    at.upstream.answer = answering(500);
    const person = { ...quote, name: 'Grace' };
    const refused = await at.expecting({ forwarded: 1 }, () => send(headers, person));
    at.upstream.answer = answering(200);
    const again = await at.expecting({ forwarded: 1 }, () => send(headers, person));
    expect([refused.status, again.status]).toEqual([502, 303]);
    const other = browser();
    const subscribe = () => send(other, { email: 'bad', privacy: 'yes' }, '/api/subscribe');
    const statuses = [];
    for (let n = 1; n <= 6; n += 1) statuses.push((await subscribe()).status);
    expect(statuses).toEqual([400, 400, 400, 400, 400, 429]);
  });

  test('counts two clicks as one request on /api/subscribe', async () => {
    const headers = browser();
    const subscribe = (n: number) => send(headers, { email: `a${n}@double.example`, privacy: 'yes' }, '/api/subscribe');
    for (let n = 1; n <= 4; n += 1) await subscribe(n);
    expect([(await subscribe(5)).status, (await subscribe(5)).status]).toEqual([303, 303]);
    expect((await subscribe(6)).status).toBe(429);
  });
});

describe('two equal forms that are not a double click', () => {
  test.each([
    ['from a program without browser headers', {}],
    ['from a script', { 'sec-fetch-mode': 'cors', 'sec-fetch-site': 'same-origin' }],
    ['from another site', { 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'cross-site' }],
  ])('are both forwarded if they come %s', async (_name, said) => {
    const headers = { 'x-forwarded-for': freshAddress(), ...said };
    await at.expecting({ forwarded: 2 }, async () => {
      await send(headers);
      await send(headers);
    });
  });

  test('are both forwarded if a field or the client address differs', async () => {
    const headers = browser();
    await at.expecting({ forwarded: 3 }, async () => {
      await send(headers);
      await send(headers, { ...quote, name: 'Ada L.' });
      await send({ ...headers, 'x-forwarded-for': freshAddress() });
    });
  });

  test('are both forwarded if two clients without a proxy have different addresses', async () => {
    const { 'x-forwarded-for': _, ...direct } = browser();
    await at.expecting({ forwarded: 2 }, async () => {
      for (const address of ['127.0.0.1', '127.0.0.2', '127.0.0.1']) {
        await send(direct, quote, '/api/leads', address);
      }
    });
  });

  test('are both forwarded if they go to two routes', async () => {
    const headers = browser();
    const fields = { email: 'two-routes@example.com', privacy: 'on' };
    await at.expecting({ forwarded: 2, mails: 1 }, async () => {
      await send(headers, fields, '/api/leads');
      await send(headers, fields, '/api/subscribe');
    });
  });

  test('are both forwarded if they are JSON', async () => {
    const headers = browser();
    await at.expecting({ forwarded: 2 }, async () => {
      await post(at.service, '/api/leads', 'json', quote, headers);
      await post(at.service, '/api/leads', 'json', quote, headers);
    });
  });
});

test('POST /api/leads returns 413 to a browser for a form over the size limit', async () => {
  const answer = await send(browser(), { ...quote, message: 'x'.repeat(33_000) });
  expect([answer.status, answer.text]).toEqual([413, expect.stringContaining('Your text is too long')]);
});

describe('openDoubleClicks', () => {
  const accepted: FormResult = { kind: 'accepted', event: 'lead.created', upstream: undefined };

  test('forgets an outcome after ten seconds, even if an earlier click on another form is still running', async () => {
    const clock = testClock();
    const clicks = openDoubleClicks(clock);
    void clicks.once('slow', () => new Promise(() => {}));
    let runs = 0;
    const click = () =>
      clicks.once('quick', async () => {
        runs += 1;
        return accepted;
      });
    const first = await click();
    clock.advance(9_999);
    expect([await click(), runs]).toEqual([first, 1]);
    clock.advance(1);
    expect([await click(), runs]).toEqual([first, 2]);
  });

  test('removes expired clicks when another click begins', async () => {
    const clock = testClock();
    const begun = new Map();
    const clicks = openDoubleClicks(clock, begun);
    for (const key of ['a', 'b', 'c']) await clicks.once(key, async () => accepted);
    clock.advance(10_000);
    await clicks.once('d', async () => accepted);
    expect([...begun.keys()]).toEqual(['d']);
    clock.advance(9_999);
    await clicks.once('e', async () => accepted);
    expect([...begun.keys()]).toEqual(['d', 'e']);
  });

  test('runs a click again if its first run threw an error', async () => {
    const clicks = openDoubleClicks(testClock());
    await expect(clicks.once('key', () => Promise.reject(new Error('It broke.')))).rejects.toThrow('It broke.');
    expect(await clicks.once('key', async () => accepted)).toBe(accepted);
  });
});
