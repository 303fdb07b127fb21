/** One process of the service: the real modules and handlers with simulated surroundings. */

import { execute } from '../src/actions/execute.ts';
import { openExecutions } from '../src/actions/executions.ts';
import { preview } from '../src/actions/preview.ts';
import { openRecovery } from '../src/actions/recovery.ts';
import { openRetention } from '../src/actions/retention.ts';
import { openConfirmations } from '../src/confirmations/confirmations.ts';
import { openMailboxes } from '../src/confirmations/mailbox.ts';
import { openPending } from '../src/confirmations/pending.ts';
import { openSweep } from '../src/confirmations/sweep.ts';
import { acceptLead } from '../src/intake/leads.ts';
import { type SubscribeParts, subscribe } from '../src/intake/subscribe.ts';
import { noAlerts } from '../src/notices/alerts.ts';
import { once } from '../src/platform/lazy.ts';
import type { Log } from '../src/platform/log.ts';
import { noMetrics } from '../src/platform/metrics.ts';
import { newPrivateKey } from '../src/platform/random.ts';
import { openDrain } from '../src/platform/shutdown.ts';
import { openReceipts, readReceipt } from '../src/receipts/receipts.ts';
import { openPresses } from '../src/sandbox/presses.ts';
import { openSandboxRetention } from '../src/sandbox/retention.ts';
import { openSandbox } from '../src/sandbox/sandbox.ts';
import { NO_MINIMUM } from '../src/settings/confirmation-minimum.ts';
import { parseReceiptKeys } from '../src/settings/receipt-keys.ts';
import { startJobs } from '../src/start/job-list.ts';
import { completeExpiredAttempts } from '../src/submissions/attempts.ts';
import { closeLeadStore, LEASE_MARGIN_MS, openLeadStore } from '../src/submissions/lead-store.ts';
import { openRedelivery } from '../src/submissions/redelivery.ts';
import { credentials } from './clients.ts';
import { openConfirming } from './confirming.ts';
import { openConnecting } from './connecting.ts';
import { openDesk } from './console.ts';
import { BASE_URL, openMessages } from './messages.ts';
import type { Service, ServiceParts } from './service-parts.ts';
import { openLinks, openSubscribing } from './subscribing.ts';

export const RETENTION_DAYS = 30;

/** A random key. No run depends on its bytes. */
const RECEIPT_KEYS = { signing: parseReceiptKeys(newPrivateKey())?.signing };

const silent = () => {};

/** Fields of a log line. A line with `submissionId` and without `err` reports a submission that could not be stored. */
type Logged = { err?: unknown; submissionId?: string };

/** Opens the modules as `src/compose.ts` does, and starts their jobs. */
export function openService(given: ServiceParts): Service {
  const { process, storage, upstream, mailer, upstreamTimeoutMs, mailPerMinute: perMinute } = given;
  const { clock, newId } = process;
  // Log lines are dropped, because the run's own trace has more details. An unexpected error is still reported.
  const logged = ({ err, submissionId: id }: Logged) => {
    if (err !== undefined) given.onError(err);
    else if (id !== undefined) given.onUnstored(id);
  };
  const log = { info: silent, warn: silent, error: logged } as unknown as Log;
  const { keepsDelivered, redelivery: redelivers, randomInt } = given;
  const shared = { storage, clock, upstreamTimeoutMs, keepsDelivered };
  const receipts = openReceipts({ storage, clock, keys: RECEIPT_KEYS, issuer: BASE_URL });
  const pending = openPending({ storage, clock });
  const { embedded } = upstream;
  const executions = openExecutions({
    ...shared,
    embedded,
    expirePending: pending.expire,
    messages: ({ action_id: id, submission }) => messages.of({ ...submission, id, origin: 'agent' }),
  });
  const { subscribers, render } = openSubscribing({ storage, clock, newId });
  const { extras, ledger } = given;
  const mailed = { mailer, perMinute, renderConfirmation: render, extras };
  const messages = openMessages({ storage, clock, newId, log, ...mailed });
  const { outbox } = messages;
  const retention = openRetention({ storage, clock, log, days: RETENTION_DAYS });
  const parties = { contractor: { id: 'c-1', name: 'Painters' }, operatorName: 'Operator' };
  const submissions = openLeadStore({
    ...shared,
    log,
    metrics: noMetrics,
    upstream,
    redelivery: redelivers,
    randomInt,
    messages:
      outbox &&
      ((completed) => [
        ...(completed.by === 'first' ? messages.of({ ...completed, origin: 'browser' }) : []),
        ...subscribers.messageOf(completed, outbox),
      ]),
  });
  const links = openLinks({ storage, clock, newId, log, subscribers, submissions });
  const sandbox = openSandbox({ storage, clock, randomSecret: given.randomSecret, metrics: noMetrics });
  const confirmations = openConfirmations(storage, executions, sandbox.executions);
  const mailboxes = openMailboxes({ storage, randomSecret: given.randomSecret });
  const sweep = openSweep({
    storage,
    clock,
    log,
    pending,
    metrics: noMetrics,
    days: RETENTION_DAYS,
  });
  const recovery = openRecovery({
    executions,
    submissions: { settleExpired: () => completeExpiredAttempts(submissions) },
    clock,
    log,
  });
  const presses = openPresses({
    ...{ credentials, parties, confirmations, ...sandbox },
    ...{ storage, clock, newId, log, signingKeys: given.signingKeys },
  });
  const drain = openDrain(clock);
  const alerts = noAlerts;
  const endWork = startJobs({
    recovery,
    ...openRedelivery(submissions),
    outbox,
    receipts: retention,
    confirmations: sweep,
    subscribers: links.sweep,
    ...(given.hasTester && { presses, sandbox: openSandboxRetention({ storage, clock, log }) }),
  });

  const underWay = new Set<Promise<unknown>>();
  const kit = { parties, submissions, outbox, clock, log, newId };
  const honeypots = { caught: silent };
  const forms: SubscribeParts = { ...kit, subscribers, metrics: noMetrics, honeypots };
  const actions = () => ({
    credentials,
    signingKeys: service.signingKeys,
    parties,
    clock,
    newId,
    executions,
    mailboxes,
    upstream,
    confirmationMinimum: NO_MINIMUM,
    log,
    metrics: noMetrics,
    sandbox: { ...sandbox, onAsked: presses.expect },
  });
  const confirming = () => ({
    ...actions(),
    confirmations,
    pending,
    baseUrl: '',
    mailsCodes: false,
    metrics: noMetrics,
    alerts,
  });
  const desk = once(() => openDesk({ storage, clock, newId, log, credentials, executions }, ledger));
  const connecting = once(() => openConnecting({ storage, credentials, clock, newId, log }, extras.random));
  const service: Service = {
    get desk() {
      return desk();
    },
    get connecting() {
      return connecting();
    },
    process,
    storage,
    outbox,
    signingKeys: given.signingKeys,
    retain: retention.work,
    serve: (ask) => {
      if (drain.isRefusing()) return undefined;
      const served = ask(service).finally(() => underWay.delete(served));
      underWay.add(served);
      return served;
    },
    drain: () => {
      if (drain.isDraining()) return;
      const withinMs = upstreamTimeoutMs + LEASE_MARGIN_MS;
      const endRequests = async () => {
        while (underWay.size > 0) await Promise.allSettled(underWay);
      };
      const steps = { isWatched: true, withinMs, endWork, endRequests, cutRequests: silent };
      const closeParts = async () => {
        if (underWay.size > 0) given.onError(new Error('a drain closes under a request'));
        await links.subscriptionLinks.close();
        await recovery.close();
        await Promise.all([executions.close(), sandbox.executions.close(), closeLeadStore(submissions)]);
        await storage.close();
      };
      drain.drain({ ...steps, closeParts }).then(process.leave, given.onError);
      // A drain that takes longer ends the process (reference §20.6).
      process.after(withinMs, process.kill);
    },
    preview: (client, action, body) =>
      preview(actions(), {
        ...agentRequest(client, action, body),
        readFields: async () => ({ kind: 'object', value: { ...body } }),
      }),
    execute: (client, action, key, body) =>
      execute(actions(), {
        ...agentRequest(client, action, body),
        idempotencyKeys: [key],
        traceparent: undefined,
      }),
    ...openConfirming(confirming, () => service.signingKeys, plain),
    readReceipt: (client, actionId) => {
      const { authorization, takeFromLimit } = agentRequest(client, '', {});
      return readReceipt({ credentials, receipts }, { actionId, authorization, takeFromLimit });
    },
    subscriptionLinks: links.subscriptionLinks,
    post: (form, body) =>
      (form === 'lead' ? acceptLead : subscribe)(forms, {
        contentType: 'application/json',
        traceparent: undefined,
        ...plain(body),
      }),
  };
  return service;
}

function agentRequest(client: string, action: string, body: object) {
  return { action, authorization: [`Bearer ${client}`], ...plain(body) };
}

/** Returns the parts of a request that never exceeds a rate limit. Other tests check the rate limits. */
function plain(body: object) {
  const bytes = Buffer.from(JSON.stringify(body));
  return {
    takeFromLimit: async () => ({ exceeded: false, remaining: 1, resetSeconds: 1 }),
    readBody: async () => ({ kind: 'read' as const, bytes }),
  };
}
