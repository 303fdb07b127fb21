import { expect, test, vi } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { openHttpUpstream } from '../../src/upstream/http.ts';
import { startUpstream } from '../support/upstream.ts';
import { freely, lead } from './event.ts';

test('returns unsent while an upgrade has replaced the files of the pool, and sends once they are back', async () => {
  const receiver = await startUpstream();
  const pool = await import('../../src/upstream/pool.ts');
  const load = vi.fn(async () => pool).mockRejectedValueOnce(new Error('Cannot find module'));
  const options = { url: receiver.url, secrets: [], timeoutMs: 400, clock: systemClock };
  const upstream = openHttpUpstream(options, load);
  expect(await upstream.deliver(lead, freely)).toMatchObject({ kind: 'unconfirmed', unsent: true });
  expect(receiver.delivered).toEqual([]);
  const outcomes = await Promise.all([upstream.deliver(lead, freely), upstream.deliver(lead, freely)]);
  expect(outcomes).toMatchObject([{ kind: 'confirmed' }, { kind: 'confirmed' }]);
  await upstream.close();
  await receiver.close();
});
