/** The places at which processes run. */
import { type Machine, startMachine } from './machine.ts';
import type { Service } from './service-parts.ts';
import type { StoreKind } from './store.ts';

/** A place for one process at a time. `service` is undefined while no process runs. */
export type Place = { name: string; machine: Machine; service: Service | undefined };

/**
 * Returns the places. With a file, all places are on the machine that has the file. Otherwise each place has its own
 * machine.
 */
export function placesOf(kind: StoreKind, length: number, parts: Parameters<typeof startMachine>[1]): Place[] {
  const machines = Array.from({ length: kind === 'file' ? 1 : length }, (_, index) => startMachine(index + 1, parts));
  return Array.from({ length }, (_, index) => ({
    name: `process ${index + 1}`,
    machine: machines[index % machines.length] as Machine,
    service: undefined,
  }));
}
