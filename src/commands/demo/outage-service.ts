/** A service as a process of its own, and an upstream that can die, both on this machine alone. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../clock.ts';
import { routes } from '../../routes.ts';
import { ExitFault } from '../faults.ts';

const PROGRAM = fileURLToPath(new URL('../../../bin/service.js', import.meta.url));
const START_WITHIN_MS = 20_000;
const LOOK_EVERY_MS = 50;

type OutageUpstream = {
  url: string;
  /** The `webhook-id` of every event that it took. */
  arrivals(): readonly string[];
  die(): void;
  comeBack(): Promise<void>;
};

export type OutageService = {
  url: string;
  mailFolder: string;
  upstream: OutageUpstream;
  end(): Promise<void>;
};

/** Starts both; everything is kept in the folder. Throws `ExitFault` where the service does not start. */
export async function startOutageService(
  dataDir: string,
  alertEmail: string,
): Promise<OutageService> {
  const upstream = await startUpstream();
  const port = await freePort();
  const child = spawn(process.execPath, [PROGRAM, 'start'], {
    env: {
      PATH: process.env.PATH ?? '',
      PORT: String(port),
      DATA_DIR: dataDir,
      UPSTREAM_URL: upstream.url,
      UPSTREAM_TIMEOUT_MS: '1000',
      ALERT_EMAIL: alertEmail,
      // Each person's connection is named by a header.
      TRUST_PROXY: '127.0.0.1',
      LOG_LEVEL: 'silent',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const url = `http://127.0.0.1:${port}`;
  await untilReady(url, child);
  return {
    url,
    mailFolder: join(dataDir, 'mail'),
    upstream,
    end: async () => {
      upstream.die();
      if (child.exitCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

async function untilReady(url: string, child: ChildProcess): Promise<void> {
  for (let waited = 0; waited <= START_WITHIN_MS; waited += LOOK_EVERY_MS) {
    const ready = await fetch(`${url}${routes.readiness.path}`).catch(() => undefined);
    if (ready?.ok) return;
    if (child.exitCode !== null) break;
    await systemClock.sleep(LOOK_EVERY_MS);
  }
  child.kill('SIGKILL');
  throw new ExitFault('The service of the demonstration does not start.');
}

async function startUpstream(): Promise<OutageUpstream> {
  const arrivals: string[] = [];
  let server: Server | undefined;
  let port = 0;
  const listen = async () => {
    server = createServer((request, response) => {
      request.resume().on('end', () => {
        arrivals.push(String(request.headers['webhook-id']));
        response.end('{}');
      });
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  };
  await listen();
  return {
    url: `http://127.0.0.1:${port}`,
    arrivals: () => arrivals,
    die: () => {
      server?.close();
      server?.closeAllConnections();
    },
    comeBack: listen,
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
