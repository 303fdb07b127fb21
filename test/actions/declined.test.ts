/** Declining a preview in a host’s form (reference §8.8). The row is written by the statement that also claims. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openExecutions } from '../../src/actions/executions.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { Storage } from '../../src/storage/database.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { fresh, keep, parts, type Request, unreported } from '../support/executions.ts';

describe.each(databases)('decline on %s', (_name, create) => {
  let database: TestDatabase;
  let storage: Storage;
  beforeAll(async () => {
    database = await create();
    storage = await database.open(systemClock);
  });
  afterAll(async () => {
    await storage.close();
    await database.remove();
  });

  const no = (over: Partial<Request> = {}) => fresh({ confirmation_text: '', confirmed_via: 'client_form', ...over });
  const open = () => openExecutions({ ...parts, storage });

  test('stores a declined preview that nobody can claim or settle', async () => {
    const executions = open();
    const request = no();
    expect(await executions.decline(request)).toBe(true);
    const { preview_digest } = request;
    expect(await executions.claim(fresh({ preview_digest }), keep, unreported)).toBeUndefined();
    expect(await executions.decline(no({ preview_digest }))).toBe(false);
    await executions.settleExpired();
    const { byKey } = await executions.find('acme', request.idempotency_key, preview_digest);
    expect(byKey).toMatchObject({ status: 'declined', confirmed_via: 'client_form' });
  });

  test('returns false for a preview that is already executing', async () => {
    const executions = open();
    const request = fresh();
    await executions.claim(request, keep, unreported);
    const { preview_digest } = request;
    expect(await executions.decline(no({ preview_digest }))).toBe(false);
  });

  test('applies only one of a claim and a decline that arrive at the same time', async () => {
    for (let n = 0; n < 10; n += 1) {
      const preview_digest = randomUUID();
      const [claim, declined] = await Promise.all([
        open().claim(fresh({ preview_digest }), keep, unreported),
        open().decline(no({ preview_digest })),
      ]);
      expect([claim !== undefined, declined].filter(Boolean)).toHaveLength(1);
    }
  });
});
