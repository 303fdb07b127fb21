/** Large bodies that are refused have their own rate limit (reference §3.5). */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { bounds } from '../../src/forms/bounds.ts';
import { previewAction, quote } from '../support/agent.ts';
import { postRaw } from '../support/forms.ts';
import { scenario } from '../support/scenario.ts';
import { freshAddress } from '../support/service.ts';

const at = scenario();
const padding = 'x'.repeat(bounds.refusedBodyBytes);
const large = JSON.stringify({ email: 'nobody', padding });
const small = JSON.stringify({ email: 'nobody' });
const from = () => ({ 'x-forwarded-for': freshAddress() });

const lead = (body: string, headers: Record<string, string>) =>
  postRaw(at.service, '/api/leads', 'json', body, headers);

async function refuse(count: number, headers: Record<string, string>): Promise<void> {
  for (let n = 0; n < count; n += 1) expect((await lead(large, headers)).status).toBe(400);
}

describe('refused bodies over 32,000 bytes', () => {
  test('return 429 from the 31st refusal in a minute, with the seconds to wait', async () => {
    const headers = from();
    await refuse(30, headers);
    at.clock.advance(20_000);
    const limited = await lead(large, headers);
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '40']);
    expect(limited.body.retry_after).toBe(40);
    expect((await lead(small, headers)).status).toBe(400);
    expect((await lead(large, from())).status).toBe(400);
    at.clock.advance(40_000);
    expect((await lead(large, headers)).status).toBe(400);
  });

  test('share one count across all routes that accept a body', async () => {
    const headers = from();
    await refuse(28, headers);
    const native = await postRaw(at.service, '/api/leads', 'urlencoded', padding + padding, headers);
    expect(native.status).toBe(413);
    const preview = () => previewAction(at.service, 'contact', { padding }, { headers });
    expect((await preview()).status).toBe(400);
    const limited = await preview();
    expect(limited.status).toBe(429);
    expect(limited.headers.get('retry-after')).toBe('60');
    const without = await previewAction(at.service, 'contact', { padding }, { headers, token: 'x' });
    expect(without.status).toBe(401);
  });

  test('are counted without the large bodies that a route accepts', async () => {
    const headers = from();
    for (let n = 0; n < 40; n += 1) {
      const answer = await previewAction(at.service, 'homeowner_quote', { ...quote, padding }, { headers });
      expect(answer.status).toBe(200);
    }
  });

  test('are counted by their announced size if the service does not read them', async () => {
    const headers = { ...from(), 'content-encoding': 'gzip' };
    const zipped = 'x'.repeat(bounds.refusedBodyBytes);
    // A body of exactly this size does not count, nor does a small one.
    for (const body of [zipped, 'x']) {
      for (let n = 0; n < 31; n += 1) expect((await lead(body, headers)).status).toBe(400);
    }
    for (let n = 0; n < 30; n += 1) expect((await lead(`${zipped}x`, headers)).status).toBe(400);
    expect((await lead(`${zipped}x`, headers)).status).toBe(429);
  });

  test('are counted if they are too large and announce no size', async () => {
    const address = freshAddress();
    const sendChunked = async () => {
      const headers = { 'content-type': 'application/json', 'x-forwarded-for': address, connection: 'close' };
      const sent = request(`${at.service.url}/api/leads`, { method: 'POST', headers });
      // The service answers and closes the connection before it has read the whole body.
      sent.on('error', () => {});
      sent.write('x'.repeat(bounds.jsonBodyBytes));
      sent.end('x');
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      answer.resume();
      return answer.statusCode;
    };
    for (let n = 0; n < 30; n += 1) expect(await sendChunked()).toBe(413);
    expect(await sendChunked()).toBe(429);
  });
});
