/** A simulated process. The process can be paused and killed, and its wall clock can step. */

import type { Clock } from '../src/platform/clock.ts';
import type { NewId } from '../src/platform/random.ts';
import type { Ledger } from './ledger.ts';
import type { Machine } from './machine.ts';
import type { Scheduler } from './scheduler.ts';

export type SimulatedProcess = {
  name: string;
  machine: Machine;
  clock: Clock;
  newId: NewId;
  isAlive(): boolean;
  /**
   * Schedules a callback inside the process. The callback waits while the process is paused, and never runs once the
   * process is dead.
   */
  after(ms: number, callback: () => void): () => void;
  /** Stops the process (SIGSTOP), and resumes it after `ms` milliseconds (SIGCONT). */
  pause(ms: number): void;
  /** Resumes the process (SIGCONT), and runs the callbacks that waited. */
  resume(): void;
  /** Ends the process (SIGKILL). No callback of the process runs after its end. */
  kill(): void;
  whenKilled(callback: () => void): void;
  /** Ends the process after its drain. */
  leave(): void;
  /** Returns true if the process has drained, and no fault hindered its last steps. */
  drainedInOrder(): boolean;
  /** Returns the time for which the process has been stopped so far, in milliseconds. */
  stoppedMs(): number;
  /** Records that a fault hinders the process until this time, by default until now. */
  hinder(until?: number): void;
  /** Returns the end of the last time in which a fault hindered the process. */
  hinderedAt(): number;
  /** Records that the store answered a statement that ran at this time. */
  reach(at: number): void;
  /** Returns the time of the last statement that the store answered. */
  reachedAt(): number;
};

/** Duration of the last steps of a drain. */
const AT_THE_END_MS = 1_000;

/** Wall clock at time 0 of a run, in milliseconds since 1970. */
export const BEGAN = Date.parse('2026-09-01T12:00:00.000Z');

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
    drainedInOrder: () => inOrder,
    stoppedMs: () => stoppedMs + (pausedAt === undefined ? 0 : scheduler.time() - pausedAt),
    hinder: (until = scheduler.time()) => {
      hinderedAt = Math.max(hinderedAt, until);
    },
    hinderedAt: () => (pausedAt === undefined ? hinderedAt : scheduler.time()),
    reach: (at) => {
      reachedAt = Math.max(reachedAt, at);
    },
    reachedAt: () => reachedAt,
  };
  return process;
}
