/** Runs checks of the doctor in this process, beside servers with a fault. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { expect } from 'vitest';
import type { Check, CheckContext } from '../../src/commands/doctor/check.ts';
import { runCheck } from '../../src/commands/doctor/doctor.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { readSettings } from '../../src/settings/settings.ts';
import { cert, key } from '../support/certificate.ts';
import { atEndOfFile } from '../support/leftovers.ts';
import { temporaryFolder } from './run-service.ts';

/**
 * Runs checks one after another, as the doctor does, in a new data folder unless the environment names one. Returns the
 * outcome of each check, and its words with the remedy, with `PORT` for a port and `ID` for an id. Fails if a finding
 * contains “canary”, which is a secret in these tests.
 */
export async function examine(
  environment: Record<string, string>,
  checks: readonly Check[],
  more: Partial<CheckContext> = {},
) {
  const read = readSettings({ DATA_DIR: join(temporaryFolder(), 'data'), ...environment });
  if (read.kind === 'invalid') throw new Error(read.faults.join('\n'));
  const { settings } = read;
  const context: CheckContext = {
    ...{ settings, clock: systemClock, send: true, mailTo: undefined, findings: [] },
    ...more,
  };
  for (const check of checks) context.findings.push(await runCheck(check, context));
  expect(JSON.stringify(context.findings)).not.toContain('canary');
  return context.findings.map(({ outcome, says, remedy = '' }) => {
    const words = `${says} ${remedy}`.trimEnd();
    const told = words
      .replace(/(?<=127\.0\.0\.1:)\d+/g, 'PORT')
      .replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, 'ID');
    return { outcome, told };
  });
}

/** First byte of a TLS connection. */
const HANDSHAKE = 0x16;

/** Returns the port of a server that calls `serve` for each connection, until the end of the test file. */
export async function portThat(serve: (socket: Socket) => void, tls = false): Promise<number> {
  const sockets: Socket[] = [];
  const take = (socket: Socket) => {
    sockets.push(socket.on('error', () => {}));
    serve(socket);
  };
  const server = tls ? createTlsServer({ cert, key }, take) : createServer(take);
  server.on('tlsClientError', () => {});
  await once(server.listen(0, '127.0.0.1'), 'listening');
  atEndOfFile(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Returns the port of a server that serves TLS, and calls `serve` for a connection that begins otherwise. */
export async function portBesideTls(serve: (socket: Socket) => void): Promise<number> {
  const server = createTlsServer({ cert, key });
  server.on('tlsClientError', () => {});
  return await portThat((socket) =>
    socket.once('data', (first) => {
      if (first[0] !== HANDSHAKE) return serve(socket);
      socket.pause().unshift(first);
      return server.emit('connection', socket);
    }),
  );
}
