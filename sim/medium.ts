/** State that all connections of one run share. */
import type { Random } from '../chaos/random.ts';
import type { Chances } from './chances.ts';
import type { Connection } from './database.ts';
import type { Ledger } from './ledger.ts';
import type { SimulatedProcess } from './process.ts';
import type { Scheduler } from './scheduler.ts';

export type Medium = {
  scheduler: Scheduler;
  ledger: Ledger;
  random: Random;
  chances: Chances;
  /** True while faults strike. `away` is true while the whole store is unavailable. */
  faults: boolean;
  away: boolean;
  /** True if something may have been written since the watch last read. */
  touched: boolean;
  /** The process that wrote last. */
  writer: SimulatedProcess | undefined;
  /** Offset of the database's wall clock in milliseconds. `movedAt` is the time at which it last changed. */
  aheadMs: number;
  movedAt: number;
  /** Returns the clock that decides about leases. `wallClock` returns the clock of schedules as a process reads it. */
  leaseClock(): number;
  wallClock(process: SimulatedProcess | undefined): number;
  /** Opens another connection of a process to the database. `leaseClock` decides about leases. */
  open(leaseClock: () => number, process: SimulatedProcess): Connection;
};
