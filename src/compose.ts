/** Opens the components in order, wires them, and closes them so that the store closes last. */
import type { LookupFunction } from 'node:net';
import { type Executions, openExecutions } from './actions/executions.ts';
import { type Codes, openCodes } from './confirmations/codes.ts';
import { type Confirmations, openConfirmations } from './confirmations/confirmations.ts';
import { type Mailboxes, openMailboxes } from './confirmations/mailbox.ts';
import { openPending, type PendingConfirmations } from './confirmations/pending.ts';
import type { SandboxConfirmationParts } from './confirmations/request-confirmation.ts';
import { type Credentials, openCredentials } from './credentials/file.ts';
import { acknowledgementsOf } from './intake/acknowledgement.ts';
import { type Honeypots, openHoneypots } from './intake/honeypots.ts';
import type { Limits } from './limits/limits.ts';
import { openLimits } from './limits/redis.ts';
import { type Outbox, openOutbox } from './mail/outbox.ts';
import { openMailer } from './mail/smtp.ts';
import { openSubscriptionLinks, type SubscriptionLinks } from './newsletter/confirm-and-unsubscribe.ts';
import { openSubscribers, type Subscribers, TOKEN_BYTES } from './newsletter/subscribers.ts';
import type { Alerts } from './notices/alerts.ts';
import type { NoticeSubject, Notices } from './notices/notices.ts';
import { openOperatorMail } from './notices/operator-mail.ts';
import type { Clock } from './platform/clock.ts';
import { sharedLookup } from './platform/dns-lookup.ts';
import { type InFlight, openInFlight } from './platform/in-flight.ts';
import type { Log } from './platform/log.ts';
import type { Metrics } from './platform/metrics.ts';
import { publicLookup } from './platform/public-lookup.ts';
import { type NewId, newId, randomSecret } from './platform/random.ts';
import { type Drain, openDrain } from './platform/shutdown.ts';
import { openReceipts, type Receipts } from './receipts/receipts.ts';
import { openPresses } from './sandbox/presses.ts';
import { openSandbox } from './sandbox/sandbox.ts';
import type { Answering } from './server/request-log.ts';
import type { ReceiptKeys } from './settings/receipt-keys.ts';
import type { Settings } from './settings/settings.ts';
import type { SigningKeys } from './settings/signing-keys.ts';
import { openSite, type Site } from './site/site.ts';
import { openJobs, startJobs } from './start/job-list.ts';
import { openServiceMetrics } from './start/metrics.ts';
import { signOutRemovedOperators } from './start/removed-operators.ts';
import { openRenderers } from './start/renderers.ts';
import type { ReadOnly, Storage } from './storage/database.ts';
import { openReader, openStorage } from './storage/open.ts';
import { openScrubbing, type Scrubbing } from './storage/scrubbing.ts';
import { closeLeadStore, type LeadStore, openLeadStore } from './submissions/lead-store.ts';
import type { Parties } from './submissions/submission.ts';
import { openUpstream } from './upstream/open.ts';
import type { Upstream } from './upstream/upstream.ts';

export type Parts = Site &
  Drain & {
    clock: Clock;
    newId: NewId;
    log: Log;
    storage: Storage;
    /** Runs the long reads of the console. */
    reader: ReadOnly;
    scrubbing: Scrubbing;
    signingKeys: SigningKeys;
    receiptKeys: ReceiptKeys;
    credentials: Credentials;
    executions: Executions;
    pending: PendingConfirmations;
    mailboxes: Mailboxes;
    confirmations: Confirmations;
    codes: Codes;
    receipts: Receipts;
    sandbox: SandboxConfirmationParts;
    upstream: Upstream | undefined;
    parties: Parties | undefined;
    submissions: LeadStore;
    subscribers: Subscribers;
    subscriptionLinks: SubscriptionLinks;
    outbox: Outbox | undefined;
    notices: Notices;
    alerts: Alerts;
    limits: Limits;
    metrics: Metrics;
    honeypots: Honeypots;
    answering: InFlight<Answering>;
    /** Work that continues after its response. `close` waits for it. */
    background: InFlight<Promise<void>>;
    /** DNS lookup for addresses that callers name. */
    publicLookup: LookupFunction;
    /** Ends the periodic jobs and waits for the jobs that run now. Requests are still served. */
    endWork(): Promise<void>;
    close(): Promise<void>;
  };

/**
 * Opens all components and starts the periodic jobs, or throws. The keys come from the settings or from `first-run`.
 */
export async function openParts(
  settings: Settings,
  keys: { previewSigningKeys: SigningKeys; receiptKeys: ReceiptKeys },
  clock: Clock,
  log: Log,
): Promise<Parts> {
  const site = await openSite(settings); // opened first, so that a fault in CONTENT_DIR leaves nothing open
  const credentials = openCredentials({ path: settings.credentialsFile, log, clock });
  const storage = await openStorage(settings, clock, log);
  await signOutRemovedOperators(storage, settings.operators);
  const reader = await openReader(settings, storage, clock, log);
  const upstream = await openUpstream(settings, clock);
  const mailer = await openMailer(settings, clock);
  const operatorMail = openOperatorMail(settings, { storage, clock, newId, log, labelOf: credentials.labelOf });
  const { notices, alerts } = operatorMail;
  const { contractor, operator, upstreamTimeoutMs, submissionRetentionDays: days } = settings;
  const parties = contractor && upstream && { contractor, operatorName: operator.name };
  const limits = await openLimits(settings, clock, log);
  const metrics = await openServiceMetrics(settings, { storage, clock, limits, outbox: () => outbox });
  // A notice contains the submission's content, so the content stays stored until the notice is sent.
  const keepsDelivered = days > 0 || (settings.notifyEmail ?? settings.contractorEmail) !== undefined;
  /** Returns the messages for the commit that ends a browser's first attempt, or an execution as `submitted`. */
  const messagesOf = (submission: NoticeSubject & { email: string | null }) => [
    ...notices.of(submission),
    ...(outbox && settings.acknowledge === 'on' ? acknowledgementsOf(submission, outbox) : []),
  ];
  const shared = { storage, clock, upstreamTimeoutMs, keepsDelivered };
  const pending = openPending({ storage, clock });
  const executions = openExecutions({
    ...shared,
    expirePending: pending.expire,
    embedded: upstream?.embedded === true,
    messages: ({ action_id: id, submission }) => messagesOf({ ...submission, id, origin: 'agent' }),
    onSubmitted: settings.alertEmail === undefined ? undefined : () => alerts.resolve('upstream'),
  });
  const hostname = new URL(settings.baseUrl).hostname;
  const signingKeys = keys.previewSigningKeys;
  const mailboxes = openMailboxes({ storage, randomSecret });
  const sandbox = openSandbox({ storage, clock, randomSecret, metrics });
  const confirmations = openConfirmations(storage, executions, sandbox.executions);
  const basic = { credentials, parties, signingKeys, confirmations, storage, clock, newId, log };
  const presses = openPresses({ ...basic, ...sandbox });
  const codes = openCodes({ storage, clock, newId, signingKeys, hostname, end: pending.end });
  const subscribers = openSubscribers({
    storage,
    clock,
    newId,
    newToken: () => randomSecret(TOKEN_BYTES).toString('base64url'),
    baseUrl: settings.baseUrl,
  });
  const mailed = { site, storage, clock, confirmations, credentials, signingKeys, subscribers, operatorMail };
  const render = openRenderers(settings, mailed);
  const outbox =
    mailer &&
    openOutbox({
      storage,
      clock,
      newId,
      mailer,
      render,
      prepare: notices.throttle,
      // A failed alert cannot be reported by another alert.
      onFailed: (kind) => kind === 'alert' || alerts.raise('dead_message'),
      perMinute: settings.mailPerMinute,
      log,
      hostname,
    });
  const submissions = openLeadStore({
    ...shared,
    log,
    metrics,
    upstream,
    redelivery: settings.redelivery === 'on',
    messages:
      outbox &&
      ((completed) => [
        ...(completed.by === 'first' ? messagesOf({ ...completed, origin: 'browser' }) : []),
        ...subscribers.messageOf(completed, outbox),
      ]),
    onCompleted: settings.alertEmail === undefined ? undefined : alerts.attemptCompleted,
  });
  const subscriptionLinks = openSubscriptionLinks({ storage, clock, newId, log, metrics, subscribers, submissions });
  const honeypots = openHoneypots({ storage, clock, log, metrics });
  const scrubbing = openScrubbing({ storage, clock, log, timeZone: settings.operatorTimeZone });
  const jobs = openJobs({
    ...basic,
    metrics,
    executions,
    pending,
    submissions,
    scrubbing,
    honeypots,
    alerts,
    outbox,
    presses,
    receiptDays: settings.receiptRetentionDays,
    submissionDays: days,
  });
  const background = openInFlight<Promise<void>>();
  const endWork = startJobs(jobs);

  return {
    ...basic,
    reader,
    scrubbing,
    receiptKeys: keys.receiptKeys,
    executions,
    pending,
    mailboxes,
    codes,
    receipts: openReceipts({ storage, clock, keys: keys.receiptKeys, issuer: settings.baseUrl }),
    sandbox: { ...sandbox, onAsked: presses.expect },
    upstream,
    submissions,
    subscribers,
    subscriptionLinks,
    outbox,
    notices,
    alerts,
    limits,
    metrics,
    honeypots,
    answering: openInFlight<Answering>(),
    background,
    publicLookup: publicLookup(sharedLookup()),
    ...site,
    ...openDrain(clock),
    endWork,
    close: async () => {
      // Users of the store close before the store.
      await endWork();
      await subscriptionLinks.close();
      await Promise.all(background.all());
      // Bots may have sent forms since the jobs ended.
      await honeypots.close();
      await metrics.close();
      await limits.close();
      if (upstream?.embedded === false) await upstream.close();
      await jobs.recovery.close();
      await Promise.all([executions.close(), sandbox.executions.close(), closeLeadStore(submissions)]);
      await reader.close();
      await storage.close();
      credentials.close();
    },
  };
}
