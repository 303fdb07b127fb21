/** Instances of the service under a supervisor, which restarts every instance that ends. */
import type { ChildProcess } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../test/support/free-port.ts';
import { type Ledger, report } from './ledger.ts';
import { end, ended, start, until } from './processes.ts';

const entry = resolve(import.meta.dirname, '../bin/service.js');
/** Folder that stores every log line of the instances, to find the cause of a violation. */
const logs = process.env.CHAOS_LOGS;
const RESTART_AFTER_MS = 200;

export type Instance = {
  name: string;
  port: number;
  state: 'starting' | 'up' | 'paused' | 'ending';
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
  ready(): Promise<void>;
  /** Ends the instance permanently. */
  end(): Promise<void>;
};

export type InstanceOptions = {
  name: string;
  environment: Record<string, string>;
  ledger: Ledger;
  /** Values that must not appear in any log line. */
  secrets: readonly string[];
  /** Returns true if the store is unavailable. An instance may then end during its start. */
  storeIsAway: () => boolean;
};

/** Starts an instance and restarts it until `end` is called. */
export async function startInstance(options: InstanceOptions): Promise<Instance> {
  const { name, environment, ledger } = options;
  const port = await freePort();
  let child = run();

  function run(): ChildProcess {
    const started = start(process.execPath, [entry, 'start'], {
      cwd: '/',
      env: { PATH: process.env.PATH ?? '', PORT: `${port}`, ...environment },
    });
    const lastLines: string[] = [];
    let wasUp = false;
    for (const stream of [started.stdout, started.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', (line) => read(line, lastLines));
    }
    void answers('/healthz', started).then((up) => {
      wasUp = up;
      if (up && child === started && instance.state === 'starting') instance.state = 'up';
    });
    started.once('close', (status, signal) => {
      if (instance.state === 'ending') return;
      if (signal !== 'SIGKILL' && (wasUp || !options.storeIsAway())) {
        const detail = `${name} ended with ${signal ?? status}: ${lastLines.slice(-5).join(' | ')}`;
        report(ledger, 'no instance ends by itself', detail);
      }
      instance.state = 'starting';
      setTimeout(() => {
        if (instance.state === 'starting') child = run();
      }, RESTART_AFTER_MS);
    });
    return started;
  }

  function read(line: string, lastLines: string[]): void {
    if (logs !== undefined) appendFileSync(join(logs, `${name}.log`), `${line}\n`);
    lastLines.push(line);
    if (lastLines.length > 20) lastLines.shift();
    if (options.secrets.some((secret) => line.includes(secret))) {
      report(ledger, 'no personal data and no secret in a log line', line);
    }
    if (line.includes('"unexpected error"')) report(ledger, 'never a 500', `${name} logs ${line}`);
  }

  /** Polls until the path answers 200. Returns false if the process has ended. */
  async function answers(path: string, probed: ChildProcess): Promise<boolean> {
    while (probed.exitCode === null && probed.signalCode === null) {
      if (await answersOk(port, path)) return true;
      await sleep(100);
    }
    return false;
  }

  const instance: Instance = {
    name,
    port,
    state: 'starting',
    kill: async () => {
      const killed = child;
      killed.kill('SIGKILL');
      await ended(killed);
    },
    pause: () => {
      instance.state = 'paused';
      child.kill('SIGSTOP');
    },
    resume: () => {
      child.kill('SIGCONT');
      if (instance.state === 'paused') instance.state = 'up';
    },
    ready: () => until(`${name} is ready`, () => answersOk(port, '/readyz'), 60_000),
    end: async () => {
      instance.state = 'ending';
      await end(child, 'SIGTERM', 15_000);
    },
  };
  return instance;
}

async function answersOk(port: number, path: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(2_000);
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { signal });
    await answer.arrayBuffer();
    return answer.status === 200;
  } catch {
    return false;
  }
}
