/** Where processes stand. */
import { type Machine, startMachine } from './machine.ts';
import type { Service } from './service.ts';
import type { StoreKind } from './store.ts';

/** Who asks there finds the process that runs, if any. */
export type Place = { name: string; machine: Machine; service: Service | undefined };

/** All on the machine that has the file, or each on its own. */
export function placesOf(
  kind: StoreKind,
  length: number,
  parts: Parameters<typeof startMachine>[1],
): Place[] {
  const machines = Array.from({ length: kind === 'file' ? 1 : length }, (_, index) =>
    startMachine(index + 1, parts),
  );
  return Array.from({ length }, (_, index) => ({
    name: `process ${index + 1}`,
    machine: machines[index % machines.length] as Machine,
    service: undefined,
  }));
}
