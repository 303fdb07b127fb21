import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { atEndOfFile } from './leftovers.ts';
import { program as entry, programEnvironment } from './program.ts';
import { credentials } from './service.ts';

/** Returns a new folder, which is removed at the end of the test file. */
export function temporaryFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'service-process-'));
  atEndOfFile(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

type Exit = { status: number | null; signal: NodeJS.Signals | null };

export type ServiceProcess = {
  url: string;
  port: number;
  dataDir: string;
  pid: number;
  stdout(): string;
  stderr(): string;
  kill(signal: NodeJS.Signals): void;
  exited: Promise<Exit>;
  /** Sends SIGKILL and waits for the end. */
  end(): Promise<Exit>;
};

export type ProcessOptions = {
  environment?: Record<string, string>;
  /** Data folder, for example that of a killed process (default: a new folder). */
  dataDir?: string;
  port?: number;
  /** Modules that are loaded before the service, to change or observe it from inside. */
  preload?: string[];
  /** A shell command that becomes the service by `exec "$@"`. */
  shell?: string;
};

/** Spawns the program with `start` and does not wait for it, so that a start may fail. */
export async function spawnService(options: ProcessOptions = {}): Promise<ServiceProcess> {
  const dataDir = options.dataDir ?? temporaryFolder();
  const port = options.port ?? (await freePort());
  const imports = (options.preload ?? []).flatMap((path) => ['--import', path]);
  const command = [process.execPath, ...imports, entry, 'start'];
  const [program = '', ...argv] = options.shell === undefined ? command : ['sh', '-c', options.shell, 'sh', ...command];
  const child = spawn(program, argv, {
    cwd: tmpdir(),
    env: {
      ...programEnvironment,
      PORT: String(port),
      DATA_DIR: dataDir,
      TRUST_PROXY: '127.0.0.1',
      ...options.environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const service = observe(child, port, dataDir);
  atEndOfFile(service.end);
  return service;
}

function observe(child: ChildProcess, port: number, dataDir: string): ServiceProcess {
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exited = new Promise<Exit>((settle) => {
    child.on('close', (status, signal) => settle({ status, signal }));
  });
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    dataDir,
    pid: child.pid ?? 0,
    stdout: () => stdout,
    stderr: () => stderr,
    kill: (signal) => child.kill(signal),
    exited,
    end: () => {
      child.kill('SIGKILL');
      return exited;
    },
  };
}

/** Spawns the service with the clients of `tokens`, and waits until it answers. */
export async function startProcess(options: ProcessOptions = {}): Promise<ServiceProcess> {
  const dataDir = options.dataDir ?? temporaryFolder();
  writeFileSync(join(dataDir, 'agents.json'), JSON.stringify(credentials), { mode: 0o600 });
  const service = await spawnService({ ...options, dataDir });
  await untilItAnswers(service);
  return service;
}

/** Resolves at the first answer. Throws with the output of the process if it ends before. */
export async function untilItAnswers(service: ServiceProcess): Promise<void> {
  let ended = false;
  service.exited.then(() => {
    ended = true;
  });
  while (!ended) {
    try {
      const answer = await fetch(`${service.url}/healthz`);
      await answer.arrayBuffer();
      return;
    } catch {
      await sleep(20);
    }
  }
  throw new Error(`The service ended before it answered: ${service.stderr()}`);
}
