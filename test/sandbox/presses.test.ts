/** The job that answers and ends confirmations of sandbox clients (reference §27.5). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bounds } from '../../src/forms/bounds.ts';
import { StorageUnavailable } from '../../src/storage/database.ts';
import { askToConfirm, lookAt } from '../confirmations/rig.ts';
import { previewAction, quote } from '../support/agent.ts';
import { steppedClock, type TestClock } from '../support/clock.ts';
import { freePort } from '../support/free-port.ts';
import { type Service, startService, tokens } from '../support/service.ts';
import { until } from '../support/until.ts';

const token = tokens.sandbox;

describe('job for confirmations of sandbox clients', () => {
  let clock: TestClock;
  let service: Service;
  let metrics: string;
  beforeAll(async () => {
    clock = steppedClock();
    const port = await freePort();
    metrics = `http://127.0.0.1:${port}/metrics`;
    service = await startService({ clock, environment: { METRICS_PORT: String(port) } });
  });
  afterAll(() => service.close());

  const ask = async (local: string): Promise<string> => {
    const fields = { ...quote, email: `${local}@example.com` };
    const { body } = await previewAction(service, 'homeowner_quote', fields, { token });
    return (await askToConfirm(service, body.preview_id, { token })).body.confirmation.id;
  };
  const statusOf = async (id: string) => (await lookAt(service, id, { token })).body.confirmation.status;
  /** Returns the messages and errors of the job in the log. */
  const failures = () =>
    service.logs
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => String(msg).startsWith('confirmations of sandbox clients'))
      .map(({ msg, err }) => [msg, err?.message]);

  test('answers only confirmations of tagged addresses, and logs no error', async () => {
    const plain = await ask('ada');
    const tagged = [await ask('bob+presses'), await ask('cleo+declines')];
    clock.advance(2_000);
    await until(async () => !(await Promise.all(tagged.map(statusOf))).includes('pending'));
    expect(await Promise.all([plain, ...tagged].map(statusOf))).toEqual(['pending', 'submitted', 'declined']);
    expect(failures()).toEqual([]);
  });

  test('ends an expired confirmation, and counts it', async () => {
    const id = await ask('eve');
    clock.advance(bounds.confirmationLifetimeMinutes * 60_000);
    await until(async () => {
      clock.advance(5_000);
      const text = await (await fetch(metrics)).text();
      return /^service_confirmations_total\{status="expired",sandbox="true"\} [1-9]/m.test(text);
    });
    expect(await statusOf(id)).toBe('expired');
  });

  test('logs an unavailable store once, and answers when the store is back', async () => {
    const { storage } = service.parts;
    const { read } = storage;
    const id = await ask('fay+presses');
    storage.read = () => Promise.reject(new StorageUnavailable('away'));
    for (let run = 0; run < 2; run += 1) {
      clock.advance(5_000);
      await until(() => failures().length > 0);
    }
    storage.read = read;
    expect(failures()).toEqual([['confirmations of sandbox clients not answered', 'away']]);
    await until(async () => {
      clock.advance(5_000);
      return (await statusOf(id)) === 'submitted';
    });
  });
});
