import type { Storage } from '../storage/database.ts';

/** Which keys signed the receipts that are kept, by name, and how many each. */
export async function keysThatSigned(storage: Storage): Promise<Map<string, number>> {
  const rows = await storage.read((db) =>
    db
      .selectFrom('executions')
      .select('receipt_kid')
      .select((row) => row.fn.countAll().as('receipts'))
      .where('receipt_kid', 'is not', null)
      .groupBy('receipt_kid'),
  );
  return new Map(rows.map(({ receipt_kid: kid, receipts }) => [String(kid), Number(receipts)]));
}
