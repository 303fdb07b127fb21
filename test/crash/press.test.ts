/** Kills a process between a person's click on a confirmation page and the answer (reference §6.11). */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { lookAt, openPage, pending, pressButton, tokenIn } from '../confirmations/rig.ts';
import { executeAction } from '../support/agent.ts';
import { injected } from '../support/injected.ts';
import { until } from '../support/until.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { changeIn, crashingAt, expireLeases, LOOKED_WITHIN_MS, startFor } from './crashing.ts';

vi.setConfig({ maxConcurrency: 3, testTimeout: 120_000 });

let upstream: ProgrammableUpstream;
beforeAll(async () => {
  upstream = await startUpstream();
});
afterAll(() => upstream.close());

describe.concurrent('click on a confirmation page whose process is killed', () => {
  test.for([
    { point: 'before the settle', sent: 0, end: 'pending' },
    { point: 'before the send', sent: 0, end: 'failed' },
    { point: 'after the answer', sent: 1, end: 'failed' },
  ])(
    'leaves the confirmation $end if the process is killed $point ($sent deliveries)',
    async ({ point, sent, end }, context) => {
      const crashing = await startFor(upstream, crashingAt(point));
      crashing.exited.then(() => injected(context, `kill -9 in a press, ${point}`));
      const fields = { email: `press-${point.replaceAll(' ', '-')}@example.com` };
      const asked = await pending(crashing, { action: 'newsletter', fields });
      const token = tokenIn((await openPage(crashing, asked.path)).text) ?? '';
      await expect(pressButton(crashing, asked.path, 'send', { token })).rejects.toThrow();
      expect((await crashing.exited).signal).toBe('SIGKILL');

      const restarted = await startFor(upstream, { dataDir: crashing.dataDir });
      const seen = async () => (await lookAt(restarted, asked.id)).body;
      // If its process dies before the commit, the click has changed nothing and can be repeated.
      expect((await seen()).confirmation.status).toBe('pending');
      await changeIn(crashing.dataDir, expireLeases);
      if (end !== 'pending') {
        await until(async () => (await seen()).confirmation.status !== 'pending', LOOKED_WITHIN_MS);
      }
      const body = await seen();
      expect(body.confirmation.status).toBe(end);
      const delivered = () => upstream.delivered.filter(({ headers }) => headers['webhook-id'] === asked.id).length;
      expect(delivered()).toBe(sent);
      const { key, preview } = asked;
      const executed = await executeAction(restarted, preview, { action: 'newsletter', key });
      if (end === 'failed') {
        expect(executed.body).toMatchObject({ receipt: body.receipt, replay: true });
        expect((await pressButton(restarted, asked.path, 'send', { token })).status).toBe(303);
        expect(delivered()).toBe(sent);
        return;
      }
      expect(executed.body.error).toBe('human_confirmation_required');
      await pressButton(restarted, asked.path, 'send');
      expect([(await seen()).confirmation.status, delivered()]).toEqual(['submitted', 1]);
    },
  );
});
