/**
 * Ends a thread of SQLite at a statement with a parameter such as `dies-by-exit`. It is loaded before the service
 * (`node --import`), in the main thread and in each worker.
 */
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { StatementSync } from 'node:sqlite';
import { isMainThread, Worker, type WorkerOptions } from 'node:worker_threads';

const deaths: Record<string, () => void> = {
  'dies-by-exit': () => process.exit(1),
  'dies-by-throw': () => {
    throw new Error('thrown in the thread');
  },
  'dies-by-memory': () => {
    const kept: number[][] = [];
    for (;;) kept.push(Array.from({ length: 100_000 }, (_, index) => index));
  },
};

if (isMainThread) {
  // A small heap ends soon.
  const threads = createRequire(import.meta.url)('node:worker_threads');
  threads.Worker = class extends Worker {
    constructor(file: string | URL, options: WorkerOptions) {
      super(file, { ...options, resourceLimits: { maxOldGenerationSizeMb: 40 } });
    }
  };
  syncBuiltinESMExports();
} else {
  for (const name of ['run', 'all'] as const) {
    const original = StatementSync.prototype[name] as (...values: unknown[]) => unknown;
    Object.defineProperty(StatementSync.prototype, name, {
      value(this: StatementSync, ...values: unknown[]) {
        const [word = ''] = /dies-by-\w+/.exec(values.join()) ?? [];
        deaths[word]?.();
        return original.apply(this, values);
      },
    });
  }
}
