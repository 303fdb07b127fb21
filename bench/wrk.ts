/**
 * Uses `wrk`, if it is installed, as a second client. `wrk` is written in C, and uses more connections and longer
 * slices. Each request of `wrk` has its own client address.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const CONNECTIONS = 64;
const SCRIPT = fileURLToPath(import.meta.resolve('./wrk.lua'));

/** First network of addresses, above the networks of our own client. */
const FIRST_NETWORK = 128;
const NETWORKS = 96;

let networks = 0;

/** `wrk` has no command that only reports its presence. */
export const wrkIsInstalled = spawnSync('wrk', ['-v']).error === undefined;

/**
 * Sends a request for `seconds`, with a client address in place of `ADDRESS`. Returns the number of answers per second.
 */
export async function loadByWrk(port: number, request: string, seconds: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'wrk-'));
  const file = join(folder, 'request');
  writeFileSync(file, request);
  const network = String(FIRST_NETWORK + (networks % NETWORKS));
  networks += 1;
  const load = ['--threads', '1', '--connections', String(CONNECTIONS), '--duration', `${seconds}s`];
  const argv = [...load, '--script', SCRIPT, `http://127.0.0.1:${port}/`, '--', file, network];
  try {
    const child = spawn('wrk', argv, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [said] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    const { requests, us, failed } = JSON.parse(said.slice(said.lastIndexOf('\n')));
    if (failed > 0) throw new Error(`wrk had ${failed} errors or refusals.`);
    return (requests * 1e6) / us;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
