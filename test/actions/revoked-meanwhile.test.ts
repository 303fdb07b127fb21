/** Authority that ends while a request is in progress (reference §5.13, ASVS 8.3.2). */
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CONFIRMATION_STATEMENT } from '../../src/actions/preview.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { executeAction, previewId } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { expectEffects } from '../support/outcomes.ts';
import { credentials, freshAddress, type Service, startService, tokens } from '../support/service.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

let service: Service;
let upstream: ProgrammableUpstream;

beforeAll(async () => {
  upstream = await startUpstream();
  // The service reads the credentials file every two seconds. The test's clock makes that 5 ms.
  const after = (ms: number, callback: () => void) => systemClock.after(ms === 2_000 ? 5 : ms, callback);
  const clock = { ...testClock(), after };
  service = await startService({ clock, environment: { UPSTREAM_URL: upstream.url } });
});
afterAll(async () => {
  await service.close();
  await upstream.close();
});

const write = (clients: typeof credentials.clients) =>
  writeFileSync(join(service.folder, 'agents.json'), JSON.stringify({ clients }));

/** Sends the head of an execution, runs `meanwhile` after the service found its credential, then sends the body. */
async function executeAround(
  preview: string,
  meanwhile: () => Promise<void>,
): Promise<{ status: number | undefined; body: string; challenge: string | undefined }> {
  const { find } = service.parts.credentials;
  const taken = new Promise<void>((resolve) => {
    service.parts.credentials.find = (digest) => {
      resolve();
      return find(digest);
    };
  });
  const answer = new Promise<Awaited<ReturnType<typeof executeAround>>>((resolve, reject) => {
    const body = JSON.stringify({
      preview_id: preview,
      confirmation: true,
      confirmation_text: CONFIRMATION_STATEMENT,
    });
    const headers = {
      authorization: `Bearer ${tokens.both}`,
      'idempotency-key': preview.slice(-40),
      'content-length': body.length,
      'x-forwarded-for': freshAddress(),
    };
    const url = `${service.url}/api/agent/actions/homeowner_quote/execute`;
    const sending = request(url, { method: 'POST', headers }, (got) => {
      let text = '';
      got.setEncoding('utf8').on('data', (piece) => {
        text += piece;
      });
      got.on('end', () => {
        const challenge = got.headers['www-authenticate'];
        resolve({ status: got.statusCode, body: text, challenge });
      });
    });
    sending.on('error', reject);
    sending.write(body.slice(0, 1));
    taken.then(meanwhile).then(() => sending.end(body.slice(1)), reject);
  });
  return await answer.finally(() => {
    service.parts.credentials.find = find;
    write(credentials.clients);
  });
}

const others = credentials.clients.filter(({ name }) => name !== 'acme');
const acme = (...scopes: string[]) => ({ ...(credentials.clients[0] ?? expect.fail()), scopes });

describe('execute, between the head and the body of a request', () => {
  test.each([
    ['the credential is revoked', others, 401, /^Bearer.*error="invalid_token"/],
    ['the scope is removed', [acme('lead:preview'), ...others], 403, /error="insufficient_scope"/],
  ])('makes no claim, sends nothing and does not consume the preview if %s', async (_, clients, status, challenge) => {
    const preview = await previewId(service);
    await expectEffects(service, upstream, {}, async () => {
      const answer = await executeAround(preview, async () => {
        write(clients);
        const probe = () => executeAction(service, 'none');
        await expect.poll(async () => (await probe()).status).toBe(status);
      });
      expect([answer.status, answer.challenge]).toEqual([status, expect.stringMatching(challenge)]);
    });
    await expect.poll(async () => (await executeAction(service, preview)).status).toBe(200);
  });

  test('returns 200 if the credential and its scopes stay the same', async () => {
    const preview = await previewId(service);
    const answer = await executeAround(preview, async () => {});
    expect(answer.status).toBe(200);
  });
});
