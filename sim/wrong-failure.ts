/** Checks invariant 10: there is no wrong failure. */
import { RECOVER_EVERY_MS } from '../src/actions/recovery.ts';
import type { Learned, Ledger } from './ledger.ts';
import type { SimulatedProcess } from './process.ts';

/** Time in which an unhindered process writes the outcomes that it holds in memory. */
const WRITES_WITHIN_MS = RECOVER_EVERY_MS + 1_000;

/**
 * Returns true if a failure was written although its confirmation had arrived. A process that received a confirmation
 * within the lease never writes a failure. No other process writes a failure either, if the first process had time to
 * write its outcome.
 */
export function isWrongFailure(
  ledger: Ledger,
  writer: SimulatedProcess | undefined,
  id: string,
  lease: { from: number; until: number },
  time: number,
): boolean {
  const learned = ledger.learned.get(id);
  if (learned?.outcome.kind !== 'confirmed' || learned.at > lease.until) return false;
  // A late outcome of an earlier attempt does not concern this attempt.
  return learned.begunAt >= lease.from && couldWrite(learned, writer, time);
}

/** Returns true if the process that received an outcome wrote this change itself, or had time to write before it. */
export function couldWrite(learned: Learned, writer: SimulatedProcess | undefined, time: number): boolean {
  const { process } = learned;
  if (!process.isAlive() && !process.drainedInOrder()) return false;
  const free = time - Math.max(learned.at, process.hinderedAt());
  return !process.isAlive() || writer === process || free >= WRITES_WITHIN_MS;
}
