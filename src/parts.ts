/** Calls each room's open…() and close(), whatever uses the store before the store; nothing more. */
import type { Logger } from 'pino';
import { type Executions, openExecutions } from './actions/executions.ts';
import { openRecovery } from './actions/recovery.ts';
import { openRetention } from './actions/retention.ts';
import { type NewId, newId } from './chance.ts';
import type { Clock } from './clock.ts';
import { type Credentials, openCredentials } from './credentials/file.ts';
import type { Limits } from './limits/limits.ts';
import { openLimits } from './limits/open.ts';
import { openMailer } from './mail/open.ts';
import { type Outbox, openOutbox } from './mail/outbox.ts';
import { type Drain, openDrain } from './operations/drain.ts';
import { type Metrics, noMetrics, openMetrics } from './operations/metrics.ts';
import { answersInTime } from './server/health.ts';
import type { Settings } from './settings/settings.ts';
import type { SigningKeys } from './settings/signing-keys.ts';
import { openSite, type Site } from './site/site.ts';
import { startWork } from './start/work.ts';
import type { Storage } from './storage/database.ts';
import { openStorage } from './storage/open.ts';
import type { Parties } from './submissions/recipient.ts';
import type { SubmitParts } from './submissions/submit.ts';
import { openUpstream } from './upstream/open.ts';
import type { Upstream } from './upstream/upstream.ts';

export type Parts = Site &
  Drain & {
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
    /** Ends what works by itself and waits for what is under way; requests are still served. */
    endWork(): Promise<void>;
    close(): Promise<void>;
  };

/** Opens everything and lets it work, or throws. The keys are the settings' or those that `first-run` made. */
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
  const recovery = openRecovery({ executions, clock, log });
  const retention = openRetention({ storage, clock, log, days: settings.receiptRetentionDays });
  const endWork = startWork({ clock, log, recovery, retention, outbox, upstream, site });

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
    submissions: parties && upstream && { upstream, parties, clock, metrics },
    outbox,
    limits,
    metrics,
    ...site,
    ...openDrain(clock),
    endWork,
    close: async () => {
      // First whatever may still use the store, then the store.
      await endWork();
      await metrics.close();
      await limits.close();
      await upstream?.close();
      await recovery.close();
      await executions.close();
      await storage.close();
      credentials.close();
    },
  };
}
