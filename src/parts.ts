/** Calls each room's open…() and, in reverse, close(); nothing more. */
import type { Logger } from 'pino';
import { type Executions, openExecutions } from './actions/executions.ts';
import { openRetention } from './actions/retention.ts';
import { type NewId, newId } from './chance.ts';
import { type Clock, every } from './clock.ts';
import { type Credentials, openCredentials } from './credentials/file.ts';
import type { Limits } from './limits/limits.ts';
import { openLimits } from './limits/open.ts';
import { openMailer } from './mail/open.ts';
import { type Outbox, openOutbox } from './mail/outbox.ts';
import { type Metrics, noMetrics, openMetrics } from './operations/metrics.ts';
import { answersInTime } from './server/health.ts';
import type { Settings } from './settings/settings.ts';
import type { SigningKeys } from './settings/signing-keys.ts';
import { openSite, type Site } from './site/site.ts';
import type { Storage } from './storage/database.ts';
import { openStorage } from './storage/open.ts';
import type { Parties } from './submissions/recipient.ts';
import type { SubmitParts } from './submissions/submit.ts';
import { openUpstream } from './upstream/open.ts';
import type { Upstream } from './upstream/upstream.ts';

export type Parts = Site & {
  clock: Clock;
  newId: NewId;
  log: Logger;
  storage: Storage;
  signingKeys: SigningKeys;
  credentials: Credentials;
  executions: Executions;
  upstream: Upstream | undefined;
  parties: Parties | undefined;
  submissions: SubmitParts | undefined;
  outbox: Outbox | undefined;
  limits: Limits;
  metrics: Metrics;
  isDraining(): boolean;
  isRefusing(): boolean;
  /** Calls back when the drain begins. */
  onDraining(callback: () => void): void;
  /** Turns readiness off and lets the outbox end beside the requests, which are still taken. */
  startDraining(): void;
  /** Whatever still comes is refused: the port is closed. */
  startRefusing(): void;
  close(): Promise<void>;
};

/**
 * The first answers of a start come first. Only then is loaded what they did without and what must not be
 * missed: an upgrade may take the files from under a running process.
 */
const BACKGROUND_AFTER_MS = 500;

/** How often claims whose process died are looked for, in milliseconds. */
const SETTLE_EXPIRED_EVERY_MS = 5_000;

/** Takes the settings and what `first-run` prepared; opens everything, or throws and leaves nothing. */
export async function openParts(
  settings: Settings,
  signingKeys: SigningKeys,
  clock: Clock,
  log: Logger,
): Promise<Parts> {
  const site = openSite(settings); // first: a fault in CONTENT_DIR leaves nothing open
  const credentials = openCredentials({ path: settings.credentialsFile, log, clock });
  const storage = await openStorage(settings, clock, log);
  const executions = openExecutions(storage, clock, settings.upstreamTimeoutMs);
  const upstream = await openUpstream(settings, storage, clock);
  const mailer = await openMailer(settings, clock);
  const outbox =
    mailer &&
    openOutbox({
      storage,
      clock,
      newId,
      mailer,
      perMinute: settings.mailPerMinute,
      log,
      hostname: new URL(settings.baseUrl).hostname,
    });
  const limits = await openLimits(settings, clock, log);
  const metrics =
    settings.metricsPort === undefined
      ? noMetrics
      : await openMetrics(settings.host, settings.metricsPort, {
          outboxDepth: async () => outbox?.depth() ?? {},
          storeAnswers: () => answersInTime(storage, clock),
          limitsAreInsured: limits.isInsured,
        });

  const { contractor, operator } = settings;
  const parties = contractor && upstream && { contractor, operatorName: operator.name };
  let draining: Promise<void> | undefined;
  let refusing = false;
  const drainBegins: (() => void)[] = [];

  const settleExpired = () =>
    executions.settleExpired().then(
      (count) => count > 0 && log.warn({ count }, 'executions whose lease ran out were settled'),
      (error) => log.error({ err: error }, 'expired executions could not be settled'),
    );
  const stopSettling = every(clock, SETTLE_EXPIRED_EVERY_MS, settleExpired);
  const retention = openRetention({ storage, clock, log, days: settings.receiptRetentionDays });
  retention.start();
  outbox?.start();
  const callOffPreparing = clock.after(BACKGROUND_AFTER_MS, () => {
    settleExpired();
    try {
      upstream?.prepare?.();
      site.prepare();
    } catch (error) {
      log.error({ err: error }, 'what was left for after the start could not be loaded');
    }
  });

  return {
    clock,
    newId,
    log,
    storage,
    signingKeys,
    credentials,
    executions,
    upstream,
    parties,
    submissions: parties && upstream && { upstream, parties, clock },
    outbox,
    limits,
    metrics,
    ...site,
    isDraining: () => draining !== undefined,
    isRefusing: () => refusing,
    onDraining: (callback) => void drainBegins.push(callback),
    startDraining: () => {
      draining ??= outbox?.close() ?? Promise.resolve();
      for (const begin of drainBegins) begin();
    },
    startRefusing: () => {
      refusing = true;
    },
    close: async () => {
      callOffPreparing();
      stopSettling();
      await retention.close();
      await metrics.close();
      await (draining ?? outbox?.close());
      await limits.close();
      await upstream?.close();
      await storage.close();
      credentials.close();
    },
  };
}
