/** A simulated process: it can be paused, killed, and its wall clock can step. */
import type { NewId } from '../src/chance.ts';
import type { Clock } from '../src/clock.ts';
import type { Ledger } from './ledger.ts';
import type { Machine } from './machine.ts';
import type { Scheduler } from './scheduler.ts';

export type SimulatedProcess = {
  name: string;
  machine: Machine;
  clock: Clock;
  newId: NewId;
  isAlive(): boolean;
  /** Schedules what happens inside the process: not before it runs again, never once it is dead. */
  after(ms: number, callback: () => void): () => void;
  /** SIGSTOP, and SIGCONT after so many milliseconds. */
  pause(ms: number): void;
  /** SIGCONT: what has waited happens now. */
  resume(): void;
  /** SIGKILL: nothing of it goes on. */
  kill(): void;
  whenKilled(callback: () => void): void;
  /** The end of a drain. */
  leave(): void;
  /** Whether nothing kept it, in the end, from what it wanted to do. */
  leftInOrder(): boolean;
  /** How long it has been stopped so far, in milliseconds. */
  stoppedMs(): number;
  /** Something kept it from what it wanted to do. */
  hinder(): void;
  /** When that last was so. */
  hinderedAt(): number;
  /** The store has answered what it was asked at that moment. */
  reach(at: number): void;
  /** The last such moment. */
  reachedAt(): number;
};

/** What the last steps of a drain take. */
const AT_THE_END_MS = 1_000;

/** The wall clock at moment 0. */
export const BEGAN = Date.parse('2026-09-01T12:00:00.000Z');

/** Takes its name and the machine it runs on. */
export function startProcess(
  name: string,
  machine: Machine,
  { scheduler, ledger, newId }: { scheduler: Scheduler; ledger: Ledger; newId: NewId },
): SimulatedProcess {
  let alive = true;
  let pausedAt: number | undefined;
  let resumesAt = 0;
  let stoppedMs = 0;
  let hinderedAt = 0;
  let reachedAt = 0;
  let inOrder = false;
  let waiting: (() => void)[] = [];
  const atDeath: (() => void)[] = [];

  const enter = (callback: () => void) => {
    if (!alive) return;
    if (pausedAt !== undefined) waiting.push(callback);
    else callback();
  };
  const after = (ms: number, callback: () => void) => scheduler.after(ms, () => enter(callback));

  const process: SimulatedProcess = {
    name,
    machine,
    clock: {
      now: () => new Date(BEGAN + scheduler.time() + machine.wallStepMs()),
      monotonic: () => Math.floor(machine.uptime()),
      sleep: (ms) => new Promise((resolve) => void after(ms, resolve)),
      after,
      turn: () => new Promise((resolve) => void after(0, resolve)),
    },
    newId,
    isAlive: () => alive,
    after,
    pause: (ms) => {
      ledger.note(() => `${name} is stopped for ${(ms / 1000).toFixed(3)} s`);
      pausedAt ??= scheduler.time();
      resumesAt = Math.max(resumesAt, scheduler.time() + ms);
      scheduler.after(ms, () => {
        if (scheduler.time() >= resumesAt) process.resume();
      });
    },
    resume: () => {
      if (pausedAt === undefined) return;
      stoppedMs += scheduler.time() - pausedAt;
      pausedAt = undefined;
      process.hinder();
      resumesAt = 0;
      if (alive) ledger.note(() => `${name} goes on`);
      const entering = waiting;
      waiting = [];
      for (const callback of entering) scheduler.after(0, () => enter(callback));
    },
    kill: () => {
      if (!alive) return;
      alive = false;
      for (const callback of atDeath) callback();
    },
    whenKilled: (callback) => void atDeath.push(callback),
    leave: () => {
      inOrder = scheduler.time() - hinderedAt > AT_THE_END_MS;
      ledger.note(() => `${name} has drained`);
      process.kill();
    },
    leftInOrder: () => inOrder,
    stoppedMs: () => stoppedMs + (pausedAt === undefined ? 0 : scheduler.time() - pausedAt),
    hinder: () => {
      hinderedAt = scheduler.time();
    },
    hinderedAt: () => (pausedAt === undefined ? hinderedAt : scheduler.time()),
    reach: (at) => {
      reachedAt = Math.max(reachedAt, at);
    },
    reachedAt: () => reachedAt,
  };
  return process;
}
