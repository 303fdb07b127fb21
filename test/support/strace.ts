import { spawn, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';

/** True if strace is installed. With `TEST_SERVICES=required`, as in CI, its absence is an error. */
export const canInject = spawnSync('strace', ['-V']).status === 0;
if (!canInject && process.env.TEST_SERVICES === 'required') {
  throw new Error('strace is not there, and TEST_SERVICES=required wants it.');
}

/** Time limit for strace to detach from all threads. */
const DETACHED_WITHIN_MS = 3_000;

export type Injection = {
  /** Detaches from the process. Resolves with the number of failed system calls. */
  stop(): Promise<number>;
};

/**
 * Makes system calls of every thread of a process fail from now on. The faults are strace expressions, such as
 * `pwrite64:error=EROFS` or `fsync:error=EIO:when=2`. Resolves when strace is attached to every thread.
 */
export async function inject(pid: number, ...faults: string[]): Promise<Injection> {
  const expressions = faults.flatMap((fault) => ['-e', `inject=${fault}`]);
  const traced = faults.map((fault) => fault.split(':', 1)[0]).join(',');
  const child = spawn('strace', ['-f', '-p', String(pid), '-e', `trace=${traced}`, ...expressions], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.once('close', () => reject(new Error(`strace ended: ${said}`)));
    child.stderr.on('data', function count() {
      const threads = readdirSync(`/proc/${pid}/task`).length;
      const attached = said.match(/ attached(?: with \d+ threads)?/g)?.length ?? 0;
      const whole = new RegExp(`attached with ${threads} threads`).test(said);
      if (!whole && attached < threads) return;
      // A killed process has no threads to count, and strace says how it died.
      child.stderr.off('data', count);
      resolve();
    });
  });
  return {
    stop: async () => {
      child.kill('SIGINT');
      // If a thread died before its process, strace can wait for it forever, and the dead process stays.
      const killing = setTimeout(() => child.kill('SIGKILL'), DETACHED_WITHIN_MS);
      await ended;
      clearTimeout(killing);
      return said.match(/\(INJECTED\)/g)?.length ?? 0;
    },
  };
}
