/** Reports stay in force as long as receipts, whichever keys sign previews (reference §6.14). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSweep } from '../../src/confirmations/sweep.ts';
import { noMetrics } from '../../src/platform/metrics.ts';
import { executeAction, previewId } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { type Service, startService } from '../support/service.ts';
import { askToConfirm, pending, pressButton } from './rig.ts';

const keys = ['one', 'two', 'three'].map((name) => Buffer.alloc(32, name).toString('base64'));
const [first, second, third] = keys as [string, string, string];
const clock = testClock();

let folder: string;
let service: Service | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rotation-'));
});
afterEach(async () => {
  await service?.close();
  service = undefined;
  rmSync(folder, { recursive: true });
});

/** Restarts the service with these keys and runs the sweep once. */
async function startWith(...signing: string[]): Promise<Service> {
  await service?.close();
  const environment = { PREVIEW_SIGNING_KEYS: signing.join(',') };
  service = await startService({ folder, clock, environment });
  await openSweep({ ...service.parts, metrics: noMetrics, days: 400 }).work();
  return service;
}

const refusals = async (of: Service) => {
  const preview = await previewId(of);
  return [(await executeAction(of, preview)).status, (await askToConfirm(of, preview)).status];
};

test('a report under the first signing key still blocks the client after two key rotations', async () => {
  const asked = await pending(await startWith(first));
  await pressButton(await startWith(first), asked.path, 'report');
  for (const signing of [[second, first], [second], [third, second], [third]]) {
    expect(await refusals(await startWith(...signing))).toEqual([403, 403]);
  }
});

test('a person can report a confirmation from before a rotation of the signing key', async () => {
  const asked = await pending(await startWith(first));
  await startWith(second, first);
  const now = await startWith(second);
  await pressButton(now, asked.path, 'report');
  expect(await refusals(now)).toEqual([403, 403]);
});
