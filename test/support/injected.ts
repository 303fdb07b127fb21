import type { TestContext } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** Number of times that the test injected each fault, by the name of the fault. */
    injected?: Record<string, number>;
  }
}

/** Counts a fault that was injected, for the table at the end of `npm run faults`. */
export function injected({ task }: Pick<TestContext, 'task'>, fault: string, times = 1): void {
  task.meta.injected ??= {};
  task.meta.injected[fault] = (task.meta.injected[fault] ?? 0) + times;
}
