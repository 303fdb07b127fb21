/** Runs periodic jobs. `start/job-list.ts` lists the jobs of a process. */
import type { Clock } from './clock.ts';

export type Job<Result = void> = {
  /** Does the work once, even while a run is under way. Throws the errors of the work. */
  work(): Promise<Result>;
  /** Runs the job now, or waits for the run under way. Does nothing once the job is closed. */
  run(): Promise<void>;
  /**
   * Runs the job now. If a run is under way, another run follows, because the run under way may have missed new work.
   */
  soon(): void;
  /** Runs the job after `firstAfterMs`, then every `everyMs`, until `close`. */
  start(): void;
  /** Prevents further runs, aborts the signal and waits for the run under way. */
  close(): Promise<void>;
};

type JobParts<Result> = {
  clock: Clock;
  /** Period of the runs, in milliseconds. `firstAfterMs` is the time before the first run (default: `everyMs`). */
  everyMs: number;
  firstAfterMs?: number;
  /**
   * Does the work of one run. `signal` is aborted when the job is closed, and the work then ends after its current
   * batch.
   */
  work(signal: AbortSignal): Promise<Result>;
  /** Called with the result of each successful run. */
  done?(result: Result): void;
  /** Called when a run fails, and not again until a run has succeeded, unless `repeatsFailures` is set. */
  failed?(error: unknown): void;
  repeatsFailures?: boolean;
  /** True if `close` runs the job once more, because the work writes data that is only in memory. */
  runsAtClose?: boolean;
};

/** Returns a job that never overlaps itself. The job does nothing before `start`, `run` or `soon`. */
export function openJob<Result>(parts: JobParts<Result>): Job<Result> {
  const { clock, everyMs, firstAfterMs = everyMs, repeatsFailures = false, runsAtClose = false } = parts;
  const closing = new AbortController();
  const work = () => parts.work(closing.signal);
  let cancel: (() => void) | undefined;
  let running: Promise<void> | undefined;
  let failing = false;

  async function attempt(): Promise<void> {
    try {
      const result = await work();
      failing = false;
      parts.done?.(result);
    } catch (error) {
      if (repeatsFailures || !failing) parts.failed?.(error);
      failing = true;
    }
  }

  async function run(): Promise<void> {
    if (closing.signal.aborted) return;
    running ??= attempt().finally(() => {
      running = undefined;
    });
    await running;
  }

  function tick(): void {
    cancel = clock.after(everyMs, tick);
    void run();
  }

  return {
    work,
    run,
    soon: () => void (running === undefined ? run() : running.then(run)),
    start() {
      cancel ??= clock.after(firstAfterMs, tick);
    },
    async close() {
      closing.abort();
      cancel?.();
      await running;
      if (runsAtClose) await attempt();
    },
  };
}
