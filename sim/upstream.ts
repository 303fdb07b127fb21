/**
 * The destination of a run. The destination may be slow, refuse a request, or reset the connection before or after it
 * has read the request. The destination may also act and lose its answer, or read a request long after it was sent.
 */
import type { Random } from '../chaos/random.ts';

import { outcomeOf } from '../src/upstream/http.ts';
import type { Event, Outcome, RemoteUpstream } from '../src/upstream/upstream.ts';
import type { Chances } from './chances.ts';
import { markOf, seeDelivery } from './deliveries.ts';
import type { Fence } from './fence.ts';
import type { Ledger } from './ledger.ts';
import type { SimulatedProcess } from './process.ts';

import type { Scheduler } from './scheduler.ts';

export type UpstreamWorld = {
  scheduler: Scheduler;
  ledger: Ledger;
  random: Random;
  chances: Chances;
  /** True while the destination causes faults. */
  faults: boolean;
  timeoutMs: number;
  /** Time until which the destination is unreachable. */
  goneUntil: number;
  fence: Fence;
  /** Makes the store unavailable for `ms` milliseconds. */
  loseStore(ms: number): void;
};

/** The result of one request. With `status` 0, no answer arrives. */
type Fate = { name: string; reads: boolean; status: number; answersAfterMs: number };

/** Values of `Retry-After` in a 429. The header may be absent, and its value may be a date. */
const RETRY_AFTER = ['', '2', '300', '86400', '1000000', 'date'] as const;

/** Opens the destination for one process. Each delivery is one send, behind the fence. */
export function openSimulatedUpstream(world: UpstreamWorld, process: SimulatedProcess): RemoteUpstream {
  const { scheduler, ledger, random, timeoutMs } = world;
  return {
    embedded: false,
    close: async () => {},
    deliver: ({ id, body }, { mayStart }) =>
      new Promise<Outcome>((resolve) => {
        const event = JSON.parse(body) as Event;
        let settled = false;
        let sent = false;
        let end: (outcome: Outcome) => void = () => {};
        const settle = (outcome: Outcome) => {
          if (settled) return;
          settled = true;
          end(outcome);
          resolve(outcome);
        };
        process.after(timeoutMs, () => settle({ kind: 'unconfirmed', reason: 'late', ...(!sent && { unsent: true }) }));
        strikeBeforeSend(world, process);
        // The request waits for a connection. The fence is checked right before the first byte is written.
        process.after(random.between(0, waits(world)), () => {
          if (settled) return;
          if (!mayStart()) {
            return settle({ kind: 'unconfirmed', reason: 'The fence was shut.', unsent: true });
          }
          sent = true;
          end = world.fence.begin(process, id, event);
          const fate = drawFate(world);
          ledger.note(() => `${process.name} sends ${event.data.id}: ${fate.name}`);
          scheduler.after(random.between(1, 30), () => {
            if (fate.reads) seeDelivery(ledger, event, body);
            scheduler.after(fate.answersAfterMs, () =>
              process.after(0, () => {
                strikeAtAnswer(world, process);
                settle(outcomeAt(event, fate, process, random));
              }),
            );
          });
        });
      }),
  };
}

/** Wraps the upstream of a process, and records every outcome that the process receives. */
export function noting(
  upstream: RemoteUpstream,
  { ledger, scheduler }: Pick<UpstreamWorld, 'ledger' | 'scheduler'>,
  process: SimulatedProcess,
): RemoteUpstream {
  return {
    ...upstream,
    deliver: async (sent, delivery) => {
      const begunAt = scheduler.time();
      const outcome = await upstream.deliver(sent, delivery);
      const event = JSON.parse(sent.body) as Event;
      const { data } = event;
      ledger.note(() => `${process.name} learns of ${data.id}: ${outcome.kind}`);
      if (ledger.unstored.has(data.id)) ledger.unstored.add(markOf(event));
      const learned = { id: data.id, outcome, process, begunAt, at: scheduler.time() };
      for (const name of [data.id, markOf(event)]) {
        ledger.learned.set(name, learned);
        if (outcome.kind === 'confirmed') ledger.everConfirmed.add(name);
      }
      if (data.unsubscribe_url !== undefined && ledger.unstored.has(data.id)) {
        ledger.violate(13, `${data.id} was forwarded without a row`);
      }
      return outcome;
    },
  };
}

/** Strikes at the worst moment for a pause. The claim exists, nothing is sent, and the clock may step meanwhile. */
function strikeBeforeSend(world: UpstreamWorld, process: SimulatedProcess): void {
  const { random, chances, ledger } = world;
  if (world.faults && random.chance(chances.killAtSend)) {
    ledger.fault('kill -9 before the first byte');
    process.kill();
    return;
  }
  if (!world.faults || !random.chance(chances.pauseBeforeSend)) return;
  const stepped = chances.clockSteps > 0 && random.chance(0.5);
  ledger.fault(`pause before the first byte${stepped ? ', and a step of the wall clock' : ''}`);
  process.pause(random.between(1_000, chances.pauseMaximumMs));
  if (stepped) process.machine.stepWall(random.pick(chances.stepsMs));
}

/**
 * Strikes at the worst moment for an outage, a pause or a kill. The upstream has acted, and its outcome is not written
 * yet.
 */
function strikeAtAnswer(world: UpstreamWorld, process: SimulatedProcess): void {
  const { random, chances, ledger, faults, loseStore } = world;
  if (!faults) return;
  if (random.chance(chances.killAtSend)) {
    ledger.fault('kill -9 as the upstream answers');
    process.kill();
    return;
  }
  if (random.chance(chances.pauseAtAnswer)) {
    ledger.fault('pause as the upstream answers');
    process.pause(random.between(1_000, chances.pauseMaximumMs));
  }
  if (!random.chance(chances.awayAtAnswer)) return;
  ledger.fault('the store is away as the upstream answers');
  loseStore(random.between(100, 12_000));
}

function waits({ faults, chances, timeoutMs }: UpstreamWorld): number {
  return faults && chances.upstreamTrouble > 0.4 ? timeoutMs * 1.5 : 20;
}

function drawFate(world: UpstreamWorld): Fate {
  const { random, chances, faults, timeoutMs, ledger, scheduler } = world;
  if (scheduler.time() < world.goneUntil) {
    return { name: 'is gone', reads: false, status: 0, answersAfterMs: 1 };
  }
  if (!faults || !random.chance(chances.upstreamTrouble)) {
    return { name: 'confirmed', reads: true, status: 200, answersAfterMs: random.between(1, 50) };
  }
  const fate = random.pick<Fate>([
    { name: 'resets before it reads', reads: false, status: 0, answersAfterMs: 5 },
    { name: 'acts, loses its answer', reads: true, status: 0, answersAfterMs: 5 },
    { name: 'answers too late', reads: true, status: 200, answersAfterMs: timeoutMs * 2 },
    { name: 'is slow', reads: true, status: 200, answersAfterMs: timeoutMs * 0.9 },
    { name: 'answers 500', reads: true, status: 500, answersAfterMs: 5 },
    { name: 'answers 409', reads: true, status: 409, answersAfterMs: 5 },
    { name: 'answers 422', reads: true, status: 422, answersAfterMs: 5 },
    { name: 'answers 429', reads: true, status: 429, answersAfterMs: 5 },
    { name: 'answers 503', reads: false, status: 503, answersAfterMs: 5 },
  ]);
  ledger.fault(`upstream ${fate.name}`);
  return fate;
}

function outcomeAt(event: Event, fate: Fate, { clock }: SimulatedProcess, random: Random): Outcome {
  if (fate.status === 0) return { kind: 'unconfirmed', reason: fate.name };
  const retryAfter = fate.status === 429 ? random.pick(RETRY_AFTER) : undefined;
  const date = () => new Date(clock.now().getTime() + 600_000).toUTCString();
  return outcomeOf(event.type, fate.status, retryAfter === 'date' ? date() : retryAfter, clock.now());
}
