/** A thread with its own SQLite connection, for statements that would block the event loop. */
import { Worker } from 'node:worker_threads';

/** Rows of a statement that returns rows, or the number of rows that a statement changed. */
type ThreadResult = { rows: Record<string, unknown>[]; changes: number };

export type SqliteThread = {
  /** Runs a statement after the earlier statements. An error ends the thread and rejects this and later statements. */
  run(sql: string, parameters?: readonly unknown[]): Promise<ThreadResult>;
  end(): Promise<unknown>;
};

/** Starts a thread. A thread that only reads does not keep the process alive. */
export function openThread(path: string, readOnly: boolean, onEnd = () => {}): SqliteThread {
  // In the bundle the worker is a JavaScript file beside this file.
  const file = `sqlite-worker.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`;
  const worker = new Worker(new URL(file, import.meta.url), { workerData: { path, readOnly } });
  if (readOnly) worker.unref();
  const waiting: Pick<PromiseWithResolvers<ThreadResult>, 'resolve' | 'reject'>[] = [];
  let ending: unknown;
  const end = (error: unknown) => {
    ending ??= error;
    onEnd();
    for (const { reject } of waiting.splice(0)) reject(error);
  };
  worker.on('message', (result) => waiting.shift()?.resolve(result));
  worker.on('error', end);
  worker.on('exit', () => end(new Error('The thread has ended.')));
  return {
    run: (sql, parameters = []) => {
      if (ending !== undefined) return Promise.reject(ending);
      worker.postMessage({ sql, parameters });
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    end: () => worker.terminate(),
  };
}
