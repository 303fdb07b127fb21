import { expect } from 'vitest';
import type { Service } from './service.ts';
import type { ProgrammableUpstream } from './upstream.ts';

export type Counts = { forwarded: number; rows: number; mails: number };

/** Counts the effects besides the answer: deliveries, execution rows, messages in the outbox. */
export async function countEffects(service: Service, upstream?: ProgrammableUpstream): Promise<Counts> {
  const count = async (table: 'executions' | 'submissions' | 'messages') => {
    const [row] = await service.parts.storage.read((db) =>
      db.selectFrom(table).select((rows) => rows.fn.countAll().as('total')),
    );
    return Number(row?.total);
  };
  return {
    forwarded: upstream === undefined ? await count('submissions') : upstream.delivered.length,
    rows: await count('executions'),
    mails: await count('messages'),
  };
}

/** Runs a function and expects exactly these effects. An effect that is not named must be 0. */
export async function expectEffects<T>(
  service: Service,
  upstream: ProgrammableUpstream | undefined,
  expected: Partial<Counts>,
  run: () => Promise<T>,
): Promise<T> {
  const before = await countEffects(service, upstream);
  const result = await run();
  const after = await countEffects(service, upstream);
  const happened = {
    forwarded: after.forwarded - before.forwarded,
    rows: after.rows - before.rows,
    mails: after.mails - before.mails,
  };
  expect(happened).toEqual({ forwarded: 0, rows: 0, mails: 0, ...expected });
  return result;
}
