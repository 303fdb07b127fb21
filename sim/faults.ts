/** When which fault of the whole strikes; those of single statements and sends are their own. */
import type { Random } from '../chaos/random.ts';
import { type Chances, PAUSE_MAXIMUM_MS, STEPS_MS } from './chances.ts';
import type { WallClocks } from './process.ts';
import type { Service } from './service.ts';

/** Where a process stands: who asks there finds the one that runs, if any. */
export type Place = { name: string; service: Service | undefined };

/** What the faults of a run can reach. */
export type World = {
  places: readonly Place[];
  wallClocks: WallClocks;
  chances: Chances;
  setAway(away: boolean): void;
  rotateKeys(step: number): void;
  erase(): void;
};

type Fault = { at: number; name: string; strike(): void };

/** Draws the faults of one run. */
export function faultsOf(world: World, random: Random, duringMs: number): Fault[] {
  const faults: Fault[] = [];
  const add = (name: string, strike: () => void) => {
    faults.push({ at: random.between(0, duringMs), name, strike });
  };
  const running = (strike: (place: Place) => void) => () => {
    const places = world.places.filter(({ service }) => service !== undefined);
    if (places.length > 0) strike(random.pick(places));
  };
  const { chances } = world;
  for (let n = 0; n < chances.crashes; n += 1) {
    add(
      'kill -9',
      running(({ service }) => service?.process.kill()),
    );
  }
  for (let n = 0; n < chances.pauses; n += 1) {
    add(
      'SIGSTOP',
      running(({ service }) => service?.process.pause(random.between(100, PAUSE_MAXIMUM_MS))),
    );
  }
  const step = ({ name }: Place) => void world.wallClocks.set(name, random.pick(STEPS_MS));
  for (let n = 0; n < chances.clockSteps; n += 1) {
    add('step of a wall clock', () => step(random.pick(world.places)));
    // As when a machine was asleep: its clock is set right as it wakes.
    add(
      'SIGSTOP and a step of the wall clock',
      running((place) => {
        place.service?.process.pause(random.between(100, PAUSE_MAXIMUM_MS));
        step(place);
      }),
    );
  }
  for (let n = 0; n < chances.storeOutages; n += 1) {
    const at = random.between(0, duringMs * 0.8);
    faults.push({ at, name: 'the store is away', strike: () => world.setAway(true) });
    faults.push({
      at: at + random.between(100, 10_000),
      name: 'the store is back',
      strike: () => world.setAway(false),
    });
  }
  if (random.chance(0.3)) add('rotation of keys', () => world.rotateKeys(1));
  if (random.chance(0.2)) add('erasure', () => world.erase());
  for (let n = 0; n < chances.drains; n += 1) {
    // Early enough to be over, and the process back, when the faults stop.
    faults.push({
      at: random.between(0, duringMs * 0.8),
      name: 'SIGTERM',
      strike: running(({ service }) => service?.drain()),
    });
  }
  return faults;
}
