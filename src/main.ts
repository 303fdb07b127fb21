/** The process: settings → parts → listen → drain → close. */
import closeWithGrace from 'close-with-grace';
import { buildApp } from './app.ts';
import { systemClock } from './clock.ts';
import { packageVersion } from './commands/version.ts';
import { faultsOfCredentials } from './credentials/file.ts';
import { openLog } from './operations/log.ts';
import { openParts, type Parts } from './parts.ts';
import { type LoadedEnvironment, loadEnvironment } from './settings/environment.ts';
import { readSettings, type Settings } from './settings/settings.ts';
import { EXIT_CONFIGURATION } from './start/exit-status.ts';
import { describeStartFault } from './start/faults.ts';
import { prepareLocalMode } from './start/first-run.ts';
import { greeting } from './start/greeting.ts';
import { LEASE_MARGIN_MS } from './submissions/submissions.ts';

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
  const { environment, file, faults } = loadEnvironment(process.cwd());
  const credentialFaults = faultsOfCredentials(environment.AGENT_CREDENTIALS_FILE);
  const read = readSettings(environment, [...faults, ...credentialFaults]);
  if (read.kind === 'invalid') {
    for (const fault of read.faults) process.stderr.write(`${fault}\n`);
    process.exitCode = EXIT_CONFIGURATION;
    return;
  }
  const { settings } = read;
  await serve(settings, file).catch((error) => giveUp(error, settings));
}

async function serve(settings: Settings, envFile: LoadedEnvironment['file']): Promise<void> {
  // On a full disk neither the greeting nor a line of the log can be written, and the service works all the same.
  process.stdout.on('error', () => {});
  const log = openLog(settings.logLevel);
  const prepared = await prepareLocalMode(settings, systemClock);
  const parts = await openParts(settings, prepared, systemClock, log);
  const app = await buildApp(settings, parts);
  drainOnSignals(settings, parts, app);
  // Only now: a signal that comes with the first connection is answered already.
  await app.listen({ host: addressOf(settings.host), port: settings.port });
  const onTerminal = process.stdout.isTTY;
  process.stdout.write(
    greeting({
      settings,
      envFile,
      prepared,
      parts,
      version: packageVersion(),
      onTerminal,
      operatorLink: onTerminal ? await linkForLocalMode(settings, parts) : undefined,
    }),
  );
}

/** For `localhost` Fastify opens a second server, of which neither the drain nor what refuses broken requests would know. */
function addressOf(host: string): string {
  return host === 'localhost' ? '127.0.0.1' : host;
}

/** Whoever starts it on their own terminal is its operator (beyond §7). Without it the service runs as well. */
async function linkForLocalMode(
  { mode, operatorConsole, baseUrl }: Settings,
  { storage, log, clock }: Parts,
): Promise<string | undefined> {
  if (mode !== 'local' || operatorConsole === 'off') return undefined;
  try {
    const { makeLink } = await import('./console/links.ts');
    return await makeLink(storage, { name: 'local', now: clock.now(), baseUrl });
  } catch (error) {
    log.warn({ err: error }, 'no link for the operator could be made');
    return undefined;
  }
}

function drainOnSignals(
  settings: Settings,
  parts: Parts,
  app: Awaited<ReturnType<typeof buildApp>>,
): void {
  const { mode, trustProxy, upstreamTimeoutMs } = settings;
  const isBehindProxy = mode === 'production' && trustProxy.length > 0;
  const withinMs = upstreamTimeoutMs + LEASE_MARGIN_MS;
  for (const each of DRAIN_SIGNALS) process.on(each, stay);
  closeWithGrace({ delay: withinMs, logger: false }, async ({ err, signal }) => {
    for (const each of DRAIN_SIGNALS) {
      for (const listener of process.listeners(each)) {
        if (listener !== stay) process.off(each, listener);
      }
    }
    const handedOn = systemClock.sleep(HANDED_ON_MS);
    if (err !== undefined)
      parts.log.fatal({ err }, 'the process ends because of an unexpected error');
    await parts.drain({
      isWatched: signal === 'SIGTERM' && isBehindProxy,
      withinMs,
      endWork: parts.endWork,
      endRequests: () => app.close(),
      cutRequests: () => app.server.closeAllConnections(),
      closeParts: parts.close,
    });
    await handedOn;
  });
}

function giveUp(error: unknown, settings?: Settings): never {
  const { sentence, exitCode } = describeStartFault(error, settings);
  process.stderr.write(`${sentence}\n`);
  process.exit(exitCode);
}

await main().catch(giveUp);
