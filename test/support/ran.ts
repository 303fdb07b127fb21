import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

/** Result of a program that a test ran. */
export type Ran = { status: number | null; stdout: string; stderr: string };

/**
 * Resolves when a program and its output have ended (`close`). With `exit`, it does not wait for background processes
 * that hold the pipes open.
 */
export function ranToTheEnd(
  child: ChildProcessByStdio<Writable | null, Readable, Readable>,
  by: 'close' | 'exit' = 'close',
): Promise<Ran> {
  const ran: Ran = { status: null, stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      ran[name] += text;
    });
  }
  return new Promise((settle) => {
    child.on(by, (status) => setImmediate(() => settle({ ...ran, status })));
  });
}
