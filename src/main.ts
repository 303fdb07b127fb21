/** The process: settings → parts → listen → drain → close. */
import { readFileSync } from 'node:fs';
import closeWithGrace from 'close-with-grace';
import { LEASE_MARGIN_MS } from './actions/executions.ts';
import { buildApp } from './app.ts';
import { systemClock } from './clock.ts';
import { openLog } from './operations/log.ts';
import { openParts } from './parts.ts';
import { loadEnvironment, readSettings } from './settings/settings.ts';
import { EXIT_CONFIGURATION } from './start/exit-status.ts';
import { describeStartFault } from './start/faults.ts';
import { prepareLocalMode } from './start/first-run.ts';
import { greeting } from './start/greeting.ts';

/**
 * How long a proxy has to see that readiness is off, in milliseconds: a connection that waits to be
 * accepted when the port is closed is reset, and its request lost. Part of the drain (contract §2).
 */
const NOTICE_MS = 3_000;

/** What is kept of a drain for closing the parts, in milliseconds. */
const CLOSING_MS = 1_000;

/**
 * They begin a drain, which ends by itself in its time: another one changes nothing. npm hands on what its whole
 * group had as well, so the second comes a moment after the first, and must not find the process half ended.
 */
const DRAIN_SIGNALS = ['SIGTERM', 'SIGINT'] as const;
const HANDED_ON_MS = 100;

const stay = () => {};

async function main(): Promise<void> {
  // Whatever is created is for the owner alone.
  process.umask(0o077);
  const read = readSettings(loadEnvironment(process.cwd()).environment, 'start');
  if (read.kind === 'invalid') {
    for (const fault of read.faults) process.stderr.write(`${fault}\n`);
    process.exitCode = EXIT_CONFIGURATION;
    return;
  }
  const { settings } = read;
  const log = openLog(settings.logLevel);
  const prepared = await prepareLocalMode(settings, systemClock);
  const parts = await openParts(settings, prepared.previewSigningKeys, systemClock, log);
  const app = await buildApp(settings, parts);
  const isBehindProxy = settings.mode === 'production' && settings.trustProxy.length > 0;
  const drainMs = settings.upstreamTimeoutMs + LEASE_MARGIN_MS;
  for (const each of DRAIN_SIGNALS) process.on(each, stay);
  closeWithGrace({ delay: drainMs, logger: false }, async ({ err, signal }) => {
    for (const each of DRAIN_SIGNALS) {
      for (const listener of process.listeners(each)) {
        if (listener !== stay) process.off(each, listener);
      }
    }
    const handedOn = systemClock.sleep(HANDED_ON_MS);
    if (err !== undefined) log.fatal({ err }, 'the process ends because of an unexpected error');
    parts.startDraining();
    // By then every send has ended: what is left are requests that never arrive whole.
    systemClock.after(drainMs - CLOSING_MS, () => app.server.closeAllConnections());
    if (signal === 'SIGTERM' && isBehindProxy) await systemClock.sleep(NOTICE_MS);
    parts.startRefusing();
    await app.close();
    await parts.close();
    await handedOn;
  });
  // Only now: a signal that comes with the first connection is answered already.
  await app.listen({ host: settings.host, port: settings.port });
  process.stdout.write(
    greeting({ settings, prepared, parts, version, onTerminal: process.stdout.isTTY }),
  );
}

const version: string = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
).version;

try {
  await main();
} catch (error) {
  const { sentence, exitCode } = describeStartFault(error);
  process.stderr.write(`${sentence}\n`);
  process.exit(exitCode);
}
