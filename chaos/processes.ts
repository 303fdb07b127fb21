/** Starts processes and creates folders and mounts, and ends or removes all of them at the end of the run. */
import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const running = new Set<ChildProcess>();
const folders = new Set<string>();
const mounts = new Set<string>();

/** Starts a program and tracks its process until it has ended. */
export function start(program: string, argv: string[], options: SpawnOptions = {}): ChildProcess {
  const child = spawn(program, argv, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  running.add(child);
  child.on('error', () => running.delete(child));
  child.on('exit', () => running.delete(child));
  return child;
}

/** Resolves when the process has ended. */
export function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => void child.once('exit', () => resolve()));
}

/** Sends the signal and waits. Kills the process after `patienceMs`. */
export async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL', patienceMs = 10_000): Promise<void> {
  child.kill('SIGCONT');
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs);
  await ended(child);
  clearTimeout(timer);
}

/** Creates a temporary folder that is removed at the end. */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `chaos-${name}-`));
  folders.add(folder);
  return folder;
}

/** Mounts a memory file system of this size. Returns false if this machine does not permit that. */
export function mountSmall(folder: string, megabytes: number): boolean {
  const options = `size=${megabytes}m,mode=0700`;
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]);
  if (status === 0) mounts.add(folder);
  return status === 0;
}

/** Signals that also end the workers of a server. SIGKILL would orphan these workers. */
const LAST_SIGNALS: Record<string, NodeJS.Signals> = { postgres: 'SIGQUIT', nginx: 'SIGTERM' };

/** Ends and removes everything at once, also on Ctrl-C and after an error in the run itself. */
function cleanUp(): void {
  for (const child of running) {
    child.kill('SIGCONT');
    child.kill(LAST_SIGNALS[basename(child.spawnfile)] ?? 'SIGKILL');
  }
  for (const mount of mounts) spawnSync('umount', ['-l', mount]);
  for (const folder of folders) remove(folder);
}

/** Removes a folder. Retries, because a process that is ending may still write for a moment. */
function remove(folder: string): void {
  for (let attempt = 1; attempt <= 50 && existsSync(folder); attempt += 1) {
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // The loop retries.
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  }
}

process.once('exit', cleanUp);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(130));
}

/** Polls until `ask` returns true. Throws after `patienceMs` milliseconds. */
export async function until(what: string, ask: () => Promise<boolean>, patienceMs = 30_000): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!(await ask().catch(() => false))) {
    if (performance.now() > deadline) throw new Error(`Waited in vain: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
