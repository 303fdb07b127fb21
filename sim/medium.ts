/** What the connections of one run have in common. */
import type { DatabaseSync } from 'node:sqlite';
import type { Random } from '../chaos/random.ts';
import type { Chances } from './chances.ts';
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
  /** What the clock says that judges leases. */
  leaseClock(): number;
  /** Opens another connection to the database, with the clock that judges leases. */
  open(leaseClock: () => number): DatabaseSync;
};
