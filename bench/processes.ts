/** Runs servers as child processes on one core. The load and the upstream have the other core. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../test/support/free-port.ts';

const SERVER_CORE = '0';
const LOAD_CORE = '1';

/** Unit of the times in `/proc/<pid>/stat`, in milliseconds, on every Linux that Node.js supports. */
const TICK_MS = 10;

const POLL_MS = 1;

export type Server = {
  port: number;
  /** Time from the spawn to the first byte of the first answer, in milliseconds. */
  startedInMs: number;
  /** Returns the processor time that the process has used, in milliseconds. */
  cpuMs(): number;
  residentMb(): number;
  end(signal?: NodeJS.Signals): Promise<void>;
};

/** Pins this process to the core that is reserved for the load. Returns false if there is no such core. */
export function pinLoad(): boolean {
  return spawnSync('taskset', ['-acp', LOAD_CORE, String(process.pid)]).status === 0;
}

/** Starts `node <argv>` with `PORT` set, on the cores of the list. Resolves at its first answer to a GET of the path. */
export async function startServer(
  argv: readonly string[],
  environment: Record<string, string>,
  path: string,
  cores = SERVER_CORE,
): Promise<Server> {
  const port = await freePort();
  const nowhere = openSync('/dev/null', 'w');
  const startedAt = performance.now();
  const child = spawn('taskset', ['-c', cores, process.execPath, ...argv], {
    env: { PATH: process.env.PATH ?? '', ...environment, PORT: String(port) },
    stdio: ['ignore', nowhere, 'inherit'],
  });
  const { pid } = child;
  const exited = once(child, 'exit');
  while (!(await answers(port, path))) {
    if (child.exitCode !== null) throw new Error(`${argv.join(' ')} ended before it answered.`);
    await sleep(POLL_MS);
  }
  return {
    port,
    startedInMs: performance.now() - startedAt,
    cpuMs: () => cpuMsOf(Number(pid)),
    residentMb: () => {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024;
    },
    end: async (signal = 'SIGKILL') => {
      child.kill(signal);
      await exited;
    },
  };
}

/** Returns the processor time that a process has used, in milliseconds. */
export function cpuMsOf(pid: number): number {
  // The name is in parentheses and may contain spaces, so the fields are counted from the end of the name.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

function answers(port: number, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => socket.write(`GET ${path} HTTP/1.1\r\nHost: bench\r\n\r\n`));
    socket.on('data', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
    socket.on('close', () => resolve(false));
  });
}
