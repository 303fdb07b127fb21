/** What the connections of one run have in common. */
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
  /** Whether faults strike, and whether the store is away as a whole. */
  faults: boolean;
  away: boolean;
  /** Whether something may have been written since this was last looked at. */
  touched: boolean;
  /** Who wrote last. */
  writer: SimulatedProcess | undefined;
  /** How far the database's wall clock runs ahead, and when it was last moved. */
  aheadMs: number;
  movedAt: number;
  /** What the clock says that judges leases, and the one of schedules as a process reads it there. */
  leaseClock(): number;
  wallClock(process: SimulatedProcess | undefined): number;
  /** Opens another connection to the database, with the clock that judges leases; whose it is. */
  open(leaseClock: () => number, process: SimulatedProcess): Connection;
};
