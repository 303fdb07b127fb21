/** Counters of sandbox clients (reference §27.6). */

import { expect, test } from 'vitest';
import { askToConfirm } from '../confirmations/rig.ts';
import { call, executeAction, previewAction, quote } from '../support/agent.ts';
import { freePort } from '../support/free-port.ts';
import { metricsText } from '../support/metrics.ts';
import { startService, tokens } from '../support/service.ts';

const token = tokens.sandbox;

test('executions and confirmations of a sandbox client count under the label sandbox only', async () => {
  const port = await freePort();
  const service = await startService({ environment: { METRICS_PORT: String(port) } });
  const preview = async () =>
    (await previewAction(service, 'homeowner_quote', quote, { token })).body.preview_id as string;
  await executeAction(service, await preview(), { token, key: 'one' });
  const declined = { ...quote, email: 'ada+rejected@example.com' };
  const rejected = (await previewAction(service, 'homeowner_quote', declined, { token })).body.preview_id;
  await executeAction(service, rejected, { token, key: 'two' });
  const asked = await askToConfirm(service, await preview(), { token });
  const { id } = asked.body.confirmation;
  const cancelled = await call(service, `/api/agent/confirmations/${id}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${token}` },
  });
  expect([cancelled.status, cancelled.body.confirmation.status]).toEqual([200, 'expired']);

  const text = await metricsText(port);
  await service.close();
  const counted = text.split('\n').filter((line) => /^service_(executions|confirmations)_total\{.* [1-9]/.test(line));
  expect(counted.sort()).toEqual([
    'service_confirmations_total{status="asked",sandbox="true"} 1',
    'service_confirmations_total{status="expired",sandbox="true"} 1',
    'service_executions_total{action="homeowner_quote",status="failed",sandbox="true"} 1',
    'service_executions_total{action="homeowner_quote",status="submitted",sandbox="true"} 1',
  ]);
  expect(text).not.toMatch(/^service_submission_attempts_total\{.* [1-9]/m);
});
