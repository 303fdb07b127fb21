/**
 * How the time of a claim and of a look-up grows with the receipts that are kept: 10^3, 10^5, 10^6 on
 * SQLite, and on PostgreSQL where `TEST_DATABASE_URL` (or its local default) answers.
 * `node bench/receipts.ts`
 */
import { randomUUID } from 'node:crypto';
import { openExecutions } from '../src/actions/executions.ts';
import { systemClock } from '../src/clock.ts';
import type { Storage } from '../src/storage/database.ts';
import { databases } from '../test/support/databases.ts';
import { median } from './median.ts';

const SIZES = [1_000, 100_000, 1_000_000];
const ROWS_PER_INSERT = 500;
const SUBMISSION = { form: 'contact', email: 'ada@example.com', telephone: null, event: '{}' };

for (const [name, create] of databases) {
  const database = await create();
  const storage = await database.open(systemClock);
  const executions = openExecutions({
    storage,
    clock: systemClock,
    upstreamTimeoutMs: 10_000,
    embedded: false,
    keepsDelivered: true,
  });
  let kept = 0;
  const first: Record<string, number> = {};
  process.stdout.write(`${name}\n  receipts      claim ms   ×    look-up ms   ×\n`);
  for (const size of SIZES) {
    await fill(storage, size - kept);
    kept = size;
    const claim = await median(() => executions.claim(request(), () => SUBMISSION));
    const find = await median(() => executions.find('client', randomUUID(), randomUUID()));
    first.claim ??= claim;
    first.find ??= find;
    process.stdout.write(
      `  ${String(size).padStart(9)}  ${column(claim, first.claim)}   ${column(find, first.find)}\n`,
    );
  }
  await storage.close();
  await database.remove();
}

function column(value: number, base: number): string {
  return `${value.toFixed(3).padStart(10)} ${(value / base).toFixed(2).padStart(5)}`;
}

function request() {
  return {
    actionId: randomUUID(),
    action: 'contact',
    client: 'client',
    idempotencyKey: randomUUID(),
    previewDigest: randomUUID(),
    confirmationText: 'text',
    confirmedVia: 'agent' as const,
    destination: 'Vetted Painters',
  };
}

/** Settled receipts as years of use would leave them. */
async function fill(storage: Storage, count: number): Promise<void> {
  const now = new Date().toISOString();
  for (let done = 0; done < count; done += ROWS_PER_INSERT * 100) {
    await storage.write(async (tx) => {
      for (let n = 0; n < 100 && done + n * ROWS_PER_INSERT < count; n += 1) {
        const rows = Array.from({ length: ROWS_PER_INSERT }, () => {
          const { actionId, idempotencyKey, previewDigest } = request();
          return {
            action_id: actionId,
            action: 'contact',
            client: 'client',
            idempotency_key: idempotencyKey,
            preview_digest: previewDigest + previewDigest,
            status: 'submitted' as const,
            created_at: now,
            confirmation_text:
              'I confirm that Service may use these details for the selected action.',
            confirmed_via: 'agent' as const,
            lease_started_ms: 0,
            lease_ms: 15_000,
            settled_at: now,
          };
        });
        await tx.insertInto('executions').values(rows).execute();
      }
    });
  }
}
