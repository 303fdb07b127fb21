import { spawn, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';

/** Whether system calls of a process can be made to fail; `TEST_SERVICES=required` wants it. */
export const canInject = spawnSync('strace', ['-V']).status === 0;
if (!canInject && process.env.TEST_SERVICES === 'required') {
  throw new Error('strace is not there, and TEST_SERVICES=required wants it.');
}

export type Injection = {
  /** Lets the process go, and resolves to how many system calls failed. */
  stop(): Promise<number>;
};

/**
 * Makes system calls of every thread of a process fail from now on, as strace's own expressions say:
 * `pwrite64:error=EROFS`, `fsync:error=EIO:when=2`. Resolves once every thread is held.
 */
export async function inject(pid: number, ...faults: string[]): Promise<Injection> {
  const expressions = faults.flatMap((fault) => ['-e', `inject=${fault}`]);
  const traced = faults.map((fault) => fault.split(':', 1)[0]).join(',');
  const child = spawn('strace', ['-f', '-p', String(pid), '-e', `trace=${traced}`, ...expressions], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.once('close', () => reject(new Error(`strace ended: ${said}`)));
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      const threads = readdirSync(`/proc/${pid}/task`).length;
      const attached = said.match(/ attached(?: with \d+ threads)?/g)?.length ?? 0;
      const whole = new RegExp(`attached with ${threads} threads`).test(said);
      if (whole || attached >= threads) resolve();
    });
  });
  return {
    stop: async () => {
      child.kill('SIGINT');
      await ended;
      return said.match(/\(INJECTED\)/g)?.length ?? 0;
    },
  };
}
