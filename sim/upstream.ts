/**
 * The destination of a run: it may be slow, refuse, reset the connection before or after it has read,
 * act and lose its answer, or read a request long after it was sent.
 */
import type { Random } from '../chaos/random.ts';

import { outcomeOf } from '../src/upstream/outcome.ts';
import type { Event, Outcome, Upstream } from '../src/upstream/upstream.ts';
import type { Chances } from './chances.ts';
import { type Ledger, mailboxOf } from './ledger.ts';
import type { SimulatedProcess } from './process.ts';
import { markOf, seeDelivery } from './promises.ts';

import type { Scheduler } from './scheduler.ts';

export type UpstreamWorld = {
  scheduler: Scheduler;
  ledger: Ledger;
  random: Random;
  chances: Chances;
  /** Whether it still makes trouble. */
  faults: boolean;
  timeoutMs: number;
  /** The store is away, for so long. */
  loseStore(ms: number): void;
  /** The committed status of an execution; undefined where there is none, or it can't be read now. */
  statusOf(actionId: string): string | undefined;
};

/** What becomes of one request; `status` 0: no answer arrives. */
type Fate = { name: string; reads: boolean; status: number; answersAfterMs: number };

/** The port of one process to it: one send for each delivery, behind the fence. */
export function openSimulatedUpstream(world: UpstreamWorld, process: SimulatedProcess): Upstream {
  const { scheduler, ledger, random, timeoutMs } = world;
  return {
    embedded: false,
    close: async () => {},
    deliver: (event, { mayStart }) =>
      new Promise<Outcome>((resolve) => {
        let settled = false;
        let sent = false;
        const settle = (outcome: Outcome) => {
          if (settled) return;
          settled = true;
          resolve(outcome);
        };
        process.after(timeoutMs, () =>
          settle({ kind: 'unconfirmed', reason: 'late', ...(!sent && { unsent: true }) }),
        );
        strikeBeforeSend(world, process);
        // Waiting for a connection; the fence is asked when the first byte is written next.
        process.after(random.between(0, waits(world)), () => {
          if (settled) return;
          if (!mayStart()) {
            return settle({ kind: 'unconfirmed', reason: 'The fence was shut.', unsent: true });
          }
          sent = true;
          checkFence(world, event);
          const fate = drawFate(world);
          ledger.note(() => `${process.name} sends ${event.data.id}: ${fate.name}`);
          scheduler.after(random.between(1, 30), () => {
            if (fate.reads) seeDelivery(ledger, event);
            scheduler.after(fate.answersAfterMs, () =>
              process.after(0, () => {
                strikeAtAnswer(world);
                settle(outcomeAt(event, fate, process));
              }),
            );
          });
        });
      }),
  };
}

/** The port as a process has it: what it learns through it is noted. */
export function noting(
  upstream: Upstream,
  { ledger, scheduler }: Pick<UpstreamWorld, 'ledger' | 'scheduler'>,
  process: SimulatedProcess,
): Upstream {
  return {
    ...upstream,
    deliver: async (event, delivery) => {
      const outcome = await upstream.deliver(event, delivery);
      // Inside a transaction nothing is known before its commit.
      if (delivery.within !== undefined) return outcome;
      const { data } = event;
      ledger.note(() => `${process.name} learns of ${data.id}: ${outcome.kind}`);
      const learned = { outcome, process, at: scheduler.time() };
      ledger.learned.set(data.origin === 'agent' ? data.id : markOf(data), learned);
      // A new subscriber is owed a message, whatever was answered, by a process that lives.
      if (data.fields.contractor !== undefined && outcome.kind === 'confirmed' && !outcome.known) {
        ledger.owed.push({ mailbox: mailboxOf(data.fields.email ?? ''), by: process });
      }
      return outcome;
    },
  };
}

/** The worst moment for a pause: the claim is made, nothing is sent; its clock may be set meanwhile. */
function strikeBeforeSend(world: UpstreamWorld, process: SimulatedProcess): void {
  const { random, chances, ledger } = world;
  if (!world.faults || !random.chance(chances.pauseBeforeSend)) return;
  const stepped = chances.clockSteps > 0 && random.chance(0.5);
  ledger.fault(`pause before the first byte${stepped ? ', and a step of the wall clock' : ''}`);
  process.pause(random.between(1_000, chances.pauseMaximumMs));
  if (stepped) process.machine.stepWall(random.pick(chances.stepsMs));
}

/** The worst moment for an outage: what the upstream did is known, and can't be written. */
function strikeAtAnswer({ random, chances, ledger, faults, loseStore }: UpstreamWorld): void {
  if (!faults || !random.chance(chances.awayAtAnswer)) return;
  ledger.fault('the store is away as the upstream answers');
  loseStore(random.between(100, 12_000));
}

function waits({ faults, chances, timeoutMs }: UpstreamWorld): number {
  return faults && chances.upstreamTrouble > 0.4 ? timeoutMs * 1.5 : 20;
}

/** Promise 5: no send begins after its receipt is final. */
function checkFence({ ledger, statusOf }: UpstreamWorld, { data }: Event): void {
  if (data.origin !== 'agent') return;
  const status = statusOf(data.id);
  if (status !== undefined && status !== 'executing') {
    ledger.violate(5, `a send of ${data.id} begins, and its receipt is ${status}`);
  }
}

function drawFate({ random, chances, faults, timeoutMs, ledger }: UpstreamWorld): Fate {
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
  ]);
  ledger.fault(`upstream ${fate.name}`);
  return fate;
}

function outcomeAt(event: Event, fate: Fate, process: SimulatedProcess): Outcome {
  if (fate.status === 0) return { kind: 'unconfirmed', reason: fate.name };
  return outcomeOf(event.type, fate.status, undefined, process.clock.now());
}
