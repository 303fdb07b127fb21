/** What a person declined in a host's form (beyond §3): a row by the claim's own statement. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openExecutions } from '../../src/actions/executions.ts';
import { systemClock } from '../../src/clock.ts';
import type { Storage } from '../../src/storage/database.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { fresh, keep, parts, type Request, unreported } from '../support/executions.ts';

describe.each(databases)('on %s', (_name, create) => {
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

  const no = (over: Partial<Request> = {}) =>
    fresh({ confirmationText: '', confirmedVia: 'client_form', ...over });
  const open = () => openExecutions({ ...parts, storage });

  test('a declined preview is claimed by nobody, and nothing ever settles it', async () => {
    const executions = open();
    const request = no();
    expect(await executions.decline(request)).toBe(true);
    const { previewDigest } = request;
    expect(await executions.claim(fresh({ previewDigest }), keep, unreported)).toBeUndefined();
    expect(await executions.decline(no({ previewDigest }))).toBe(false);
    await executions.settleExpired();
    const { byKey } = await executions.find('acme', request.idempotencyKey, previewDigest);
    expect(byKey).toMatchObject({ status: 'declined', confirmed_via: 'client_form' });
  });

  test('a preview that is executed can’t be declined any more', async () => {
    const executions = open();
    const request = fresh();
    await executions.claim(request, keep, unreported);
    const { previewDigest } = request;
    expect(await executions.decline(no({ previewDigest }))).toBe(false);
  });

  test('of a yes and a no that come together one counts', async () => {
    for (let n = 0; n < 10; n += 1) {
      const previewDigest = randomUUID();
      const [claim, declined] = await Promise.all([
        open().claim(fresh({ previewDigest }), keep, unreported),
        open().decline(no({ previewDigest })),
      ]);
      expect([claim !== undefined, declined].filter(Boolean)).toHaveLength(1);
    }
  });
});
