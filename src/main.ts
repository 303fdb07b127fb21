/** Runs the process: it reads settings, opens the parts, listens, and drains at the end. */
import { buildApp } from './app.ts';
import { printable, printableLines } from './commands/printable.ts';
import { openParts, type Parts } from './compose.ts';
import { faultsOfCredentials } from './credentials/file.ts';
import { systemClock } from './platform/clock.ts';
import { openLog } from './platform/log.ts';
import { lineWriter } from './platform/log-output.ts';
import { terminalLine } from './platform/terminal-log.ts';
import { packageVersion } from './project.ts';
import { type LoadedEnvironment, loadEnvironment } from './settings/environment.ts';
import { readSettings, type Settings } from './settings/settings.ts';
import { prepareLocalMode } from './start/first-run.ts';
import { greeting } from './start/greeting.ts';
import { describeStartFault, EXIT_CONFIGURATION } from './start/start-errors.ts';
import { LEASE_MARGIN_MS } from './submissions/lead-store.ts';

const DRAIN_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'] as const;

/**
 * Wait before the exit, in milliseconds. npm forwards a signal that the process group also got, so a second signal
 * follows. After Node.js has removed its handlers, the second signal would replace the exit status.
 */
const FORWARDED_WITHIN_MS = 100;

async function main(): Promise<void> {
  // New files are readable by their owner only.
  process.umask(0o077);
  const { environment, file, faults } = loadEnvironment(process.cwd());
  const credentialFaults = faultsOfCredentials(environment.AGENT_CREDENTIALS_FILE);
  const read = readSettings(environment, [...faults, ...credentialFaults]);
  if (read.kind === 'invalid') {
    for (const fault of read.faults) process.stderr.write(`${printable(fault)}\n`);
    process.exitCode = EXIT_CONFIGURATION;
    return;
  }
  const { settings } = read;
  await serve(settings, file).catch((error) => giveUp(error, settings));
}

async function serve(settings: Settings, envFile: LoadedEnvironment['file']): Promise<void> {
  // On a full disk the output fails, and the service must continue.
  process.stdout.on('error', () => {});
  const onTerminal = process.stdout.isTTY === true;
  const write = lineWriter(1, systemClock);
  const log = openLog(settings.logLevel, onTerminal ? (line) => write(terminalLine(line)) : write);
  const prepared = await prepareLocalMode(settings, systemClock);
  const parts = await openParts(settings, prepared, systemClock, log);
  const app = await buildApp(settings, parts);
  drainAtTheEnd(settings, parts, app);
  // The signal handlers exist before the first connection.
  await app.listen({ host: addressOf(settings.host), port: settings.port });
  const text = greeting({
    settings,
    envFile,
    prepared,
    parts,
    version: packageVersion(),
    onTerminal,
    operatorLink: onTerminal ? await linkForLocalMode(settings, parts) : undefined,
  });
  process.stdout.write(printableLines(text));
}

/**
 * Returns 127.0.0.1 for `localhost`, because Fastify would open a second server for this name, which would not drain.
 * Any other host stays as it is.
 */
function addressOf(host: string): string {
  return host === 'localhost' ? '127.0.0.1' : host;
}

/** Returns a sign-in link for the person at the terminal (reference §12.2), or undefined outside local mode. */
async function linkForLocalMode(
  { mode, operatorConsole, baseUrl }: Settings,
  { storage, log, clock }: Parts,
): Promise<string | undefined> {
  if (mode !== 'local' || operatorConsole === 'off') return undefined;
  try {
    const { makeLink } = await import('./console/links.ts');
    return await makeLink(storage, { name: 'local', now: clock.now(), baseUrl });
  } catch (error) {
    log.warn({ err: error }, 'sign-in link not created');
    return undefined;
  }
}

/** Drains the service at the first signal or unexpected error, then exits. Later signals and errors change nothing. */
function drainAtTheEnd(settings: Settings, parts: Parts, app: Awaited<ReturnType<typeof buildApp>>): void {
  const { mode, trustProxy, upstreamTimeoutMs } = settings;
  const isBehindProxy = mode === 'production' && trustProxy.length > 0;
  const withinMs = upstreamTimeoutMs + LEASE_MARGIN_MS;
  let isEnding = false;
  const end = async (signal?: NodeJS.Signals) => {
    if (isEnding) return;
    isEnding = true;
    void systemClock.sleep(withinMs).then(() => process.exit(1));
    const forwarded = systemClock.sleep(FORWARDED_WITHIN_MS);
    const drained = parts.drain({
      isWatched: signal === 'SIGTERM' && isBehindProxy,
      withinMs,
      endWork: parts.endWork,
      endRequests: () => app.close(),
      cutRequests: () => app.server.closeAllConnections(),
      closeParts: parts.close,
    });
    await drained.catch(report);
    await forwarded;
    process.exit();
  };
  const report = (err: unknown) => {
    parts.log.fatal({ err }, 'process ended by an unexpected error');
    process.exitCode = 1;
  };
  const fail = (err: unknown) => {
    report(err);
    void end();
  };
  for (const signal of DRAIN_SIGNALS) process.on(signal, end);
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);
}

function giveUp(error: unknown, settings?: Settings): never {
  const { sentence, exitCode } = describeStartFault(error, settings);
  process.stderr.write(`${printable(sentence)}\n`);
  process.exit(exitCode);
}

await main().catch(giveUp);
