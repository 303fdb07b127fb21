/** Promise 10: no wrong failure. */
import { RECOVER_EVERY_MS } from '../src/actions/recovery.ts';
import type { Learned, Ledger } from './ledger.ts';
import type { SimulatedProcess } from './process.ts';

/** Within so much of an unhindered life a process has written what it knew. */
const WRITES_WITHIN_MS = RECOVER_EVERY_MS + 1_000;

/**
 * Whether what was now written as a failure was known to be confirmed. Who learned of a confirmation within the
 * lease never writes a failure, and nobody else does who left it the time to write what it knows.
 */
export function knewOfIt(
  ledger: Ledger,
  writer: SimulatedProcess | undefined,
  id: string,
  lease: { from: number; until: number },
  time: number,
): boolean {
  const learned = ledger.learned.get(id);
  if (learned?.outcome.kind !== 'confirmed' || learned.at > lease.until) return false;
  // The end of an attempt before this one, learnt late, says nothing of it.
  return learned.askedAt >= lease.from && couldWrite(learned, writer, time);
}

/** Whether who learned of an attempt's end wrote what was written now, or had the time to be first. */
export function couldWrite(
  learned: Learned,
  writer: SimulatedProcess | undefined,
  time: number,
): boolean {
  const { process } = learned;
  if (!process.isAlive() && !process.leftInOrder()) return false;
  const free = time - Math.max(learned.at, process.hinderedAt());
  return !process.isAlive() || writer === process || free >= WRITES_WITHIN_MS;
}
