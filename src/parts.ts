/** Calls each room's open…() and close(), whatever uses the store before the store; nothing more. */
import type { Logger } from 'pino';
import { type Executions, openExecutions } from './actions/executions.ts';
import { type Mailboxes, openMailboxes } from './actions/mailbox.ts';
import { openRecovery } from './actions/recovery.ts';
import { openRetention } from './actions/retention.ts';
import { type NewId, newId, randomSecret } from './chance.ts';
import type { Clock } from './clock.ts';
import { codeRenderer } from './confirmations/code-letter.ts';
import { type Codes, openCodes } from './confirmations/codes.ts';
import { type Confirmations, openConfirmations } from './confirmations/confirmations.ts';
import { openSweep } from './confirmations/sweep.ts';
import { type Credentials, openCredentials } from './credentials/file.ts';
import type { Limits } from './limits/limits.ts';
import { openLimits } from './limits/open.ts';
import type { Render } from './mail/messages.ts';
import { openMailer } from './mail/open.ts';
import { type Outbox, openOutbox } from './mail/outbox.ts';
import { subscriberRenderer } from './newsletter/letter.ts';
import { openPresses, type Presses } from './newsletter/press.ts';
import { openSubscribers, type Subscribers, TOKEN_BYTES } from './newsletter/subscribers.ts';
import { openNewsletterSweep } from './newsletter/sweep.ts';
import type { Alerts } from './notices/alerts.ts';
import { alertsAfterwards, messagesAlongside } from './notices/alongside.ts';
import { noticeIsOpen } from './notices/notice-is-open.ts';
import type { Notices } from './notices/notices.ts';
import { openOperatorMail } from './notices/open.ts';
import { type Drain, openDrain } from './operations/drain.ts';
import { type Metrics, noMetrics, openMetrics } from './operations/metrics.ts';
import { openUnderWay, type UnderWay } from './operations/under-way.ts';
import { openReceipts, type Receipts } from './receipts/receipts.ts';
import { answersInTime } from './server/health.ts';
import type { Answering } from './server/observation.ts';
import type { ReceiptKeys } from './settings/receipt-keys.ts';
import type { Settings } from './settings/settings.ts';
import type { SigningKeys } from './settings/signing-keys.ts';
import { openSite, type Site } from './site/site.ts';
import { openOperatorUpkeep } from './start/operator-upkeep.ts';
import { startWork } from './start/work.ts';
import type { Storage } from './storage/database.ts';
import { openStorage } from './storage/open.ts';
import type { MessageKind } from './storage/schema.ts';
import { countSubmissions } from './submissions/counts.ts';
import { openExpiring } from './submissions/expiring.ts';
import { openFind } from './submissions/find.ts';
import type { Parties } from './submissions/recipient.ts';
import { openRedelivery } from './submissions/redelivery.ts';
import { openSubmissionRetention } from './submissions/retention.ts';
import { openSubmissions, type Submissions } from './submissions/submissions.ts';
import { openUpstream } from './upstream/open.ts';
import type { Upstream } from './upstream/upstream.ts';

export type Parts = Site &
  Drain & {
    clock: Clock;
    newId: NewId;
    log: Logger;
    storage: Storage;
    signingKeys: SigningKeys;
    receiptKeys: ReceiptKeys;
    credentials: Credentials;
    executions: Executions;
    mailboxes: Mailboxes;
    confirmations: Confirmations;
    codes: Codes;
    receipts: Receipts;
    upstream: Upstream | undefined;
    parties: Parties | undefined;
    submissions: Submissions;
    subscribers: Subscribers;
    presses: Presses;
    outbox: Outbox | undefined;
    notices: Notices;
    alerts: Alerts;
    limits: Limits;
    metrics: Metrics;
    answering: UnderWay<Answering>;
    /** Ends what works by itself and waits for what is under way; requests are still served. */
    endWork(): Promise<void>;
    close(): Promise<void>;
  };

/** Opens everything and lets it work, or throws. The keys are the settings' or those that `first-run` made. */
export async function openParts(
  settings: Settings,
  keys: { previewSigningKeys: SigningKeys; receiptKeys: ReceiptKeys },
  clock: Clock,
  log: Logger,
): Promise<Parts> {
  const site = openSite(settings); // first: a fault in CONTENT_DIR leaves nothing open
  const credentials = openCredentials({ path: settings.credentialsFile, log, clock });
  const storage = await openStorage(settings, clock, log);
  const upstream = await openUpstream(settings, clock);
  const mailer = await openMailer(settings, clock);
  const operatorMail = openOperatorMail(settings, {
    storage,
    clock,
    newId,
    log,
    find: openFind(storage),
    expiring: openExpiring(storage),
  });
  const { notices, alerts } = operatorMail;
  const { contractor, operator, upstreamTimeoutMs } = settings;
  const parties = contractor && upstream && { contractor, operatorName: operator.name };
  const days = settings.submissionRetentionDays;
  // A notice says what the row holds: then the content goes once that is sent.
  const keepsDelivered = days > 0 || settings.notifyEmail !== undefined;
  const kept = { storage, clock, upstreamTimeoutMs, keepsDelivered };
  const executions = openExecutions({
    ...kept,
    embedded: upstream?.embedded === true,
    alongside: ({ actionId: id, submission: { form } }) =>
      notices.of({ id, form, origin: 'agent' }),
    onSubmitted: alerts.attemptConfirmed,
  });
  const hostname = new URL(settings.baseUrl).hostname;
  const confirmations = openConfirmations(storage, executions);
  const signingKeys = keys.previewSigningKeys;
  const mailboxes = openMailboxes({ storage, signingKeys: () => signingKeys, randomSecret, log });
  const codes = openCodes({
    storage,
    clock,
    newId,
    signingKeys,
    mailboxes,
    hostname,
    end: executions.asked.end,
  });
  const confirmWords = () => site.frame().words.confirm;
  const renderCode = codeRenderer({
    ...settings,
    confirmations,
    signingKeys,
    clock,
    words: confirmWords,
  });
  const subscribers = openSubscribers({
    storage,
    clock,
    newId,
    newToken: () => randomSecret(TOKEN_BYTES).toString('base64url'),
    baseUrl: settings.baseUrl,
  });
  const words = () => site.frame().words.newsletter;
  const renderSubscriber = subscriberRenderer({ ...settings, words }, subscribers);
  const renderers: Partial<Record<MessageKind, Render>> = {
    code: renderCode,
    confirmation: renderSubscriber,
  };
  const outbox =
    mailer &&
    openOutbox({
      storage,
      clock,
      newId,
      mailer,
      render: (row) => (renderers[row.kind] ?? operatorMail.render)(row),
      prepare: notices.place,
      onDead: alerts.messageDied,
      perMinute: settings.mailPerMinute,
      log,
      hostname,
    });
  const limits = await openLimits(settings, clock, log);
  const metrics =
    settings.metricsPort === undefined
      ? noMetrics
      : await openMetrics(settings.host, settings.metricsPort, {
          outboxDepth: async () => outbox?.depth() ?? {},
          submissions: () => countSubmissions(storage),
          storeAnswers: () => answersInTime(storage, clock),
          limitsAreInsured: limits.isInsured,
        });

  const submissions = openSubmissions({
    ...kept,
    log,
    metrics,
    upstream,
    redelivery: settings.redelivery === 'on',
    alongside: messagesAlongside(notices, (ended) =>
      outbox === undefined ? [] : subscribers.messageOf(ended, outbox),
    ),
    afterwards: alertsAfterwards(alerts),
  });
  const presses = openPresses({ storage, clock, newId, log, metrics, subscribers, submissions });
  const recovery = openRecovery({ executions, submissions, clock, log });
  const redelivery = openRedelivery({ submissions, clock, log });
  const { receiptRetentionDays } = settings;
  const retentions = [
    openRetention({ storage, clock, log, days: receiptRetentionDays }),
    openSweep({ storage, clock, log, executions, mailboxes, metrics, days: receiptRetentionDays }),
    openOperatorUpkeep({ storage, clock, log, days: receiptRetentionDays }),
    openSubmissionRetention({ storage, clock, log, days, isAwaited: noticeIsOpen }),
    openNewsletterSweep({ storage, clock, log, metrics }),
  ];
  const endWork = startWork({
    clock,
    log,
    recovery,
    redelivery,
    retentions,
    outbox,
    alerts,
    upstream,
    site,
  });

  return {
    clock,
    newId,
    log,
    storage,
    signingKeys: keys.previewSigningKeys,
    receiptKeys: keys.receiptKeys,
    credentials,
    executions,
    mailboxes,
    confirmations,
    codes,
    receipts: openReceipts({ storage, clock, keys: keys.receiptKeys, issuer: settings.baseUrl }),
    upstream,
    parties,
    submissions,
    subscribers,
    presses,
    outbox,
    notices,
    alerts,
    limits,
    metrics,
    answering: openUnderWay<Answering>(),
    ...site,
    ...openDrain(clock),
    endWork,
    close: async () => {
      // First whatever may still use the store, then the store.
      await endWork();
      await presses.close();
      await metrics.close();
      await limits.close();
      if (upstream?.embedded === false) await upstream.close();
      await recovery.close();
      await Promise.all([executions.close(), submissions.close()]);
      await storage.close();
      credentials.close();
    },
  };
}
