/** A simulated process: it can be paused, killed, and its wall clock can step. */
import type { NewId } from '../src/chance.ts';
import type { Clock } from '../src/clock.ts';
import type { Scheduler } from './scheduler.ts';

export type SimulatedProcess = {
  name: string;
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
};

/** Steps of the wall clocks by machine, in milliseconds. */
export type WallClocks = Map<string, number>;

/** The wall clock at moment 0. */
const BEGAN = Date.parse('2026-09-01T12:00:00.000Z');

/** Takes its name and the monotonic clock of its machine at moment 0. */
export function startProcess(
  name: string,
  scheduler: Scheduler,
  parts: { newId: NewId; wallClocks: WallClocks; bootedMs: number },
): SimulatedProcess {
  let alive = true;
  let paused = false;
  let resumesAt = 0;
  let waiting: (() => void)[] = [];
  const atDeath: (() => void)[] = [];

  const enter = (callback: () => void) => {
    if (!alive) return;
    if (paused) waiting.push(callback);
    else callback();
  };
  const after = (ms: number, callback: () => void) => scheduler.after(ms, () => enter(callback));

  const process: SimulatedProcess = {
    name,
    clock: {
      now: () => new Date(BEGAN + scheduler.time() + (parts.wallClocks.get(name) ?? 0)),
      monotonic: () => Math.floor(parts.bootedMs + scheduler.time()),
      sleep: (ms) => new Promise((resolve) => void after(ms, resolve)),
      after,
      turn: () => new Promise((resolve) => void after(0, resolve)),
    },
    newId: parts.newId,
    isAlive: () => alive,
    after,
    pause: (ms) => {
      paused = true;
      resumesAt = Math.max(resumesAt, scheduler.time() + ms);
      scheduler.after(ms, () => {
        if (scheduler.time() >= resumesAt) process.resume();
      });
    },
    resume: () => {
      paused = false;
      resumesAt = 0;
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
  };
  return process;
}
