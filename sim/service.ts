/** One process of the service: the real rooms and chains, over what the run simulates. */

import type { ExecuteResult } from '../src/actions/examine-preview.ts';
import { type ExecuteParts, execute } from '../src/actions/execute.ts';
import { openExecutions } from '../src/actions/executions.ts';
import { openMailboxes } from '../src/actions/mailbox.ts';
import { type PreviewResult, preview } from '../src/actions/preview.ts';
import { openRecovery } from '../src/actions/recovery.ts';
import { openRetention } from '../src/actions/retention.ts';
import { newPrivateKey } from '../src/chance.ts';
import { openConfirmations } from '../src/confirmations/confirmations.ts';
import { openSweep } from '../src/confirmations/sweep.ts';
import { acceptLead, type FormResult } from '../src/intake/leads.ts';
import { type SubscribeParts, subscribe } from '../src/intake/subscribe.ts';
import type { Mailer } from '../src/mail/mail.ts';
import { type Outbox, openOutbox } from '../src/mail/outbox.ts';
import type { Presses } from '../src/newsletter/press.ts';
import { noAlerts } from '../src/notices/alerts.ts';
import { messagesAlongside } from '../src/notices/alongside.ts';
import { noNotices } from '../src/notices/notices.ts';
import { openDrain } from '../src/operations/drain.ts';
import type { Log } from '../src/operations/log.ts';
import { noMetrics } from '../src/operations/metrics.ts';
import { type ReadResult, readReceipt } from '../src/receipts/read.ts';
import { openReceipts } from '../src/receipts/receipts.ts';
import { NO_MINIMUM } from '../src/settings/confirmation-minimum.ts';
import { parseReceiptKeys } from '../src/settings/receipt-keys.ts';
import type { SigningKeys } from '../src/settings/signing-keys.ts';
import { startWork } from '../src/start/work.ts';
import type { Storage } from '../src/storage/database.ts';
import { openRedelivery } from '../src/submissions/redelivery.ts';
import { LEASE_MARGIN_MS, openSubmissions } from '../src/submissions/submissions.ts';
import type { Upstream } from '../src/upstream/upstream.ts';
import { credentials } from './clients.ts';
import { type Confirming, openConfirming } from './confirming.ts';
import type { SimulatedProcess } from './process.ts';
import { openLinks, openSubscribing } from './subscribing.ts';

export const RETENTION_DAYS = 30;

/** Whatever it is: no run is told by its bytes. */
const RECEIPT_KEYS = { signing: parseReceiptKeys(newPrivateKey())?.signing };
const ISSUER = 'https://simulated.example';

const silent = () => {};

/** What has neither an error nor a message tells of a submission that nobody could keep. */
type Logged = { err?: unknown; submissionId?: string };

export type Service = Confirming & {
  process: SimulatedProcess;
  storage: Storage;
  outbox: Outbox | undefined;
  /** Replaced as keys are rotated. */
  signingKeys: SigningKeys;
  retain(): Promise<number>;
  /** Lets a request in; undefined where the port is closed. */
  serve<T>(ask: (service: Service) => Promise<T>): Promise<T> | undefined;
  /** What SIGTERM begins: the real drain, after which the process has ended. */
  drain(): void;
  preview(client: string, action: string, body: object): Promise<PreviewResult>;
  execute(client: string, action: string, key: string, body: object): Promise<ExecuteResult>;
  readReceipt(client: string, actionId: string): Promise<ReadResult>;
  post(form: 'lead' | 'subscription', body: object): Promise<FormResult>;
  /** A subscriber's own links. */
  presses: Presses;
};

export type ServiceParts = {
  process: SimulatedProcess;
  storage: Storage;
  upstream: Upstream;
  mailer: Mailer | undefined;
  signingKeys: SigningKeys;
  upstreamTimeoutMs: number;
  mailPerMinute: number;
  /** `REDELIVERY`, and whether what was delivered keeps its content. */
  redelivery: boolean;
  keepsDelivered: boolean;
  below(limit: number): number;
  randomSecret(bytes: number): Buffer;
  /** Told of what is sent while the store is away. */
  onUnkept(id: string): void;
  /** What something that works by itself could not do. */
  onError(error: unknown): void;
};

/** Opens the rooms as `src/parts.ts` does, and lets them work. */
export function openService(given: ServiceParts): Service {
  const { process, storage, upstream, mailer, upstreamTimeoutMs } = given;
  const { mailPerMinute: perMinute } = given;
  const { clock, newId } = process;
  // What is said goes nowhere, for the run's own trace tells more; but a fault that nobody expected is one.
  const logged = ({ err, submissionId: id }: Logged) => {
    if (err !== undefined) given.onError(err);
    else if (id !== undefined) given.onUnkept(id);
  };
  const log = { info: silent, warn: silent, error: logged } as unknown as Log;
  const { keepsDelivered, redelivery: redelivers, below } = given;
  const kept = { storage, clock, upstreamTimeoutMs, keepsDelivered };
  const receipts = openReceipts({ storage, clock, keys: RECEIPT_KEYS, issuer: ISSUER });
  const executions = openExecutions({ ...kept, embedded: upstream.embedded });
  const { subscribers, render } = openSubscribing({ storage, clock, newId });
  const outbox = mailer && openOutbox({ storage, clock, newId, mailer, render, perMinute, log });
  const retention = openRetention({ storage, clock, log, days: RETENTION_DAYS });
  const parties = { contractor: { id: 'c-1', name: 'Painters' }, operatorName: 'Operator' };
  const submissions = openSubmissions({
    ...kept,
    log,
    metrics: noMetrics,
    upstream,
    redelivery: redelivers,
    below,
    alongside: messagesAlongside(noNotices, (ended) =>
      outbox === undefined ? [] : subscribers.messageOf(ended, outbox),
    ),
  });
  const links = openLinks({ storage, clock, newId, log, subscribers, submissions });
  const confirmations = openConfirmations(storage, executions);
  const mailboxes = openMailboxes({
    storage,
    signingKeys: () => service.signingKeys,
    randomSecret: given.randomSecret,
    log,
  });
  const sweep = openSweep({
    storage,
    clock,
    log,
    executions,
    mailboxes,
    metrics: noMetrics,
    days: RETENTION_DAYS,
  });
  const recovery = openRecovery({ executions, submissions, clock, log });
  const redelivery = openRedelivery({ submissions, clock, log });
  const drain = openDrain(clock);
  const site = { prepare: silent };
  const alerts = noAlerts;
  const endWork = startWork({
    clock,
    log,
    recovery,
    redelivery,
    retentions: [retention, sweep, links.sweep],
    outbox,
    alerts,
    upstream,
    site,
  });

  const underWay = new Set<Promise<unknown>>();
  const kit = { parties, submissions, outbox, clock, log, newId };
  const forms: SubscribeParts = { ...kit, subscribers, metrics: noMetrics };
  const actions = (): ExecuteParts => ({
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
  });
  const confirming = () => ({
    ...actions(),
    confirmations,
    baseUrl: '',
    mailsCodes: false,
    metrics: noMetrics,
    alerts,
  });
  const service: Service = {
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
        await links.presses.close();
        await recovery.close();
        await Promise.all([executions.close(), submissions.close()]);
        await storage.close();
      };
      drain.drain({ ...steps, closeParts }).then(process.leave, given.onError);
      // By then the process is ended from outside.
      process.after(withinMs, process.kill);
    },
    preview: (client, action, body) => preview(actions(), agentRequest(client, action, body)),
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
    presses: links.presses,
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

/** Rates have tests of their own: here nobody exceeds one. */
function plain(body: object) {
  const bytes = Buffer.from(JSON.stringify(body));
  return {
    takeFromLimit: async () => ({ exceeded: false, remaining: 1, resetSeconds: 1 }),
    readBody: async () => ({ kind: 'read' as const, bytes }),
  };
}
