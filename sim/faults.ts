/**
 * Draws the times of the faults that concern processes, machines and the store. Faults of single statements and sends
 * are drawn in the code where they strike.
 */
import type { Random } from '../chaos/random.ts';
import type { Chances } from './chances.ts';
import type { Place } from './places.ts';
import type { Service } from './service-parts.ts';

/** The parts of a run that the faults can change. */
export type World = {
  places: readonly Place[];
  chances: Chances;
  setAway(away: boolean): void;
  rotateKeys(step: number): void;
  erase(): void;
  resend(): void;
  dismiss(): void;
  /** Moves the clock of schedules by `ms` milliseconds, so that waiting rows become due. */
  advance(ms: number): void;
  /** Makes the upstream unreachable for `ms` milliseconds. */
  loseUpstream(ms: number): void;
  /** Receives errors that a process throws and does not catch. */
  onError(error: unknown): void;
};

const HOUR_MS = 3_600_000;

type Fault = { at: number; name: string; strike(): void };

/** Draws the faults of one run, with their times. */
export function faultsOf(world: World, random: Random, duringMs: number): Fault[] {
  const { chances, places } = world;
  const faults: Fault[] = [];
  const add = (name: string, strike: () => void, untilMs = duringMs) => {
    faults.push({ at: random.between(0, untilMs), name, strike });
  };
  const addTimes = (times: number, name: string, strike: () => void, untilMs = duringMs) => {
    for (let n = 0; n < times; n += 1) add(name, strike, untilMs);
  };
  const running = (strike: (service: Service, place: Place) => void) => () => {
    const up = places.filter(({ service }) => service !== undefined);
    if (up.length === 0) return;
    const place = random.pick(up);
    if (place.service) strike(place.service, place);
  };
  const pause = ({ process }: Service) => process.pause(random.between(100, chances.pauseMaximumMs));
  const step = ({ machine }: Place) => machine.stepWall(random.pick(chances.stepsMs));

  addTimes(
    chances.crashes,
    'kill -9',
    running(({ process }) => process.kill()),
  );
  addTimes(chances.restarts, 'restart of a machine', () => {
    const { machine } = random.pick(places);
    machine.restart();
    for (const place of places) if (place.machine === machine) place.service?.process.kill();
  });
  addTimes(chances.pauses, 'SIGSTOP', running(pause));
  for (let n = 0; n < chances.clockSteps; n += 1) {
    add('step of a wall clock', () => step(random.pick(places)));
    // This fault is like a machine that wakes from sleep and corrects its clock.
    add(
      'SIGSTOP and a step of the wall clock',
      running((service, place) => {
        pause(service);
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
  // Each value exceeds one of the first three retry delays (1, 5 and 30 minutes).
  const advance = () => world.advance(random.pick([70_000, 400_000, 2_000_000]));
  addTimes(chances.leaps, 'the schedule is due', advance);
  addTimes(chances.resends, 'resend', () => world.resend());
  addTimes(chances.dismissals, 'dismissal', () => world.dismiss());
  if (random.chance(0.06)) add('the upstream is gone for an hour', () => world.loseUpstream(HOUR_MS));
  else if (random.chance(0.01)) {
    add('the upstream is gone for good', () => world.loseUpstream(Number.POSITIVE_INFINITY));
  }
  // The drain has ended and the process runs again when the faults stop.
  const drain = running((service) => service.drain());
  addTimes(chances.drains, 'SIGTERM', drain, duringMs * 0.8);
  addTimes(
    chances.retentions,
    'retention',
    running(({ process, retain }) => {
      retain().catch((error) => process.isAlive() && world.onError(error));
    }),
  );
  return faults;
}
