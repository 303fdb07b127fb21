/** Runs the queries of requests and workers on each table, through the service's own functions. */
import { randomUUIDv7 } from 'node:crypto';
import { prepareExecutionQueries } from '../src/actions/execution-queries.ts';
import { openExecutions } from '../src/actions/executions.ts';
import { openRetention } from '../src/actions/retention.ts';
import { latestQuestions, openConfirmations } from '../src/confirmations/confirmations.ts';
import { openMailboxes } from '../src/confirmations/mailbox.ts';
import { openPending } from '../src/confirmations/pending.ts';
import { openSweep } from '../src/confirmations/sweep.ts';
import { latestEntries, recorder } from '../src/console/audit.ts';
import { newToken } from '../src/console/links.ts';
import { openSessions } from '../src/console/sessions.ts';
import { openOutboxRows } from '../src/mail/outbox-rows.ts';
import { listSubscribers } from '../src/newsletter/listing.ts';
import { prepareSubscriberQueries } from '../src/newsletter/subscriber-queries.ts';
import { openNewsletterSweep } from '../src/newsletter/sweep.ts';
import { systemClock as clock } from '../src/platform/clock.ts';
import { randomSecret } from '../src/platform/random.ts';
import type { Storage } from '../src/storage/database.ts';
import { submissionPage, submissionsOf } from '../src/submissions/read/list.ts';
import { openSubmissionRetention } from '../src/submissions/retention.ts';
import { prepareSubmissionQueries } from '../src/submissions/submission-queries.ts';

const LEASE_MS = 15_000;
const LATER = '9999-12-31T00:00:00.000Z';
const PAGE_ROWS = 50;
const LINE = '{"at":"2026-09-01T12:00:00.000Z","ms":12,"outcome":"confirmed","by":"first","http_status":200}\n';

const newId = () => randomUUIDv7();
/** Returns a random key like the keys of the rows, so that a search may end anywhere among the rows. */
const random = () => randomSecret(16).toString('hex');
const now = () => clock.now().toISOString();

export type Queries = Record<string, () => Promise<unknown>>;

/** Returns the queries of a filled store. Each query uses its own keys. */
export function hotQueries(storage: Storage): Queries {
  // Nothing reads these logs and metrics.
  const parts = { clock, storage, log: silent as never, metrics: silent as never };
  return {
    ...ofExecutions(storage, parts),
    ...ofSubmissions(storage, parts),
    ...ofMessages(storage),
    ...ofSubscribers(storage, parts),
    ...ofConsole(storage),
  };
}

const silent = new Proxy({}, { get: () => () => {} });

type Parts = { clock: typeof clock; storage: Storage; log: never; metrics: never };

function ofExecutions(storage: Storage, parts: Parts): Queries {
  const shared = { storage, clock, upstreamTimeoutMs: 10_000, embedded: false, keepsDelivered: true };
  const pending = openPending({ storage, clock });
  const mailboxes = openMailboxes({ storage, randomSecret });
  const executions = openExecutions({ ...shared, expirePending: pending.expire });
  const confirmations = openConfirmations(storage, executions);
  const queries = prepareExecutionQueries(storage, { ...shared, leaseMs: LEASE_MS });
  const submission = { form: 'contact', email: random(), search_text: random(), event: '{}' };
  const request = (client: string) => ({
    action_id: newId(),
    action: 'contact',
    client,
    idempotency_key: random(),
    preview_digest: random(),
    confirmation_text: 'text',
    confirmed_via: 'page' as const,
    destination: 'Vetted Painters',
  });
  const pendingRows: ReturnType<typeof request>[] = [];
  const claimed: ReturnType<typeof request>[] = [];
  const sweep = openSweep({
    ...parts,
    pending,
    days: 36_500,
  });
  const receipts = openRetention({ ...parts, days: 36_500 });
  return {
    'executions: found by neither': () => executions.find('client', random(), random()),
    'executions: claimed': async () => {
      const claim = request('client');
      claimed.push(claim);
      await executions.claim(claim, () => submission, random());
    },
    'executions: settled': () => {
      const { preview_digest, action_id } = next(claimed);
      const of = { preview_digest, action_id, settled_at: now(), line: LINE };
      return storage.write(queries.submit(of));
    },
    'executions: a receipt': () => executions.findByAction('client', '10000500'),
    'executions: lapsed, none': () => executions.settleExpired(),
    'executions: past retention, none': () => receipts.work(),
    'confirmations: asked': async () => {
      // The number of pending confirmations of one client is limited.
      const ask = request(random());
      pendingRows.push(ask);
      const shown = { via: 'page', fields: '{}' } as const;
      await pending.ask({
        ...ask,
        ...shown,
        secret_digest: ask.preview_digest,
        email: random(),
        mailbox_digest: random(),
        lifetimeMs: 86_400_000,
      });
    },
    'confirmations: by its secret': () => confirmations.findBySecret(pendingRows[0]?.preview_digest ?? ''),
    'confirmations: by its id': () => confirmations.find('10000500'),
    'confirmations: pressed': () => executions.confirm({ ...next(pendingRows), press_id: newId() }, () => submission),
    'confirmations: swept, none': () => pending.expire(),
    'confirmations: deleted, none': () => sweep.work(),
    'confirmations: listed': () => latestQuestions(storage, PAGE_ROWS),
    'reports: of one who never had any': () => mailboxes.hasReported(random(), random()),
    'reports: of one who had all': () => mailboxes.hasReported('client', random()),
  };
}

function ofSubmissions(storage: Storage, parts: Parts): Queries {
  const queries = prepareSubmissionQueries(storage, LEASE_MS, true);
  const ids: string[] = [];
  const retention = openSubmissionRetention({ ...parts, days: 36_500 });
  const searched = { email: random(), search_text: random(), subscriber_id: null };
  return {
    'submissions: the same again': () => storage.read(queries.findEqual({ fields_digest: random() })),
    'submissions: kept': async () => {
      const id = newId();
      ids.push(id);
      const of = { id, form: 'contact', event: '{}', fields_digest: random(), ...searched };
      await storage.write(queries.insert(of));
    },
    'submissions: delivered': () => storage.write(queries.deliver({ id: next(ids), attempt_number: 1, line: LINE })),
    'submissions: looked at': () => storage.read(queries.byId({ id: '10000500' })),
    'submissions: due, none': () => storage.read(queries.nextDue({})),
    'submissions: asked for, none': () => storage.read(queries.nextRequested({})),
    'submissions: run out, none': () => storage.read(queries.expired({})),
    'submissions: past retention, none': () => retention.work(),
    'submissions: the newest': () => submissionsOf(storage, {}, { direction: 'desc', limit: PAGE_ROWS + 1 }),
    // This query counts at most ten thousand of a million rows.
    'submissions: listed and counted': () => submissionPage(storage, {}, { limit: PAGE_ROWS }),
    'submissions: listed and counted, waiting': () =>
      submissionPage(storage, { status: 'waiting' }, { limit: PAGE_ROWS }),
  };
}

function ofMessages(storage: Storage): Queries {
  const parts = { clock, newId, perMinute: 1_000_000, hostname: 'bench.example' };
  const rows = openOutboxRows(storage, parts);
  const claimed: NonNullable<Awaited<ReturnType<typeof rows.claim>>>[] = [];
  return {
    'messages: added': () => storage.write(rows.messageTo(`${random()}@example.com`)),
    'messages: taken': async () => {
      const row = await rows.claim();
      if (row !== undefined) claimed.push(row);
    },
    'messages: removed': () => rows.remove(next(claimed)),
    'messages: due, none': () => rows.claim(),
    'messages: depth': () => rows.depth(),
  };
}

function ofSubscribers(storage: Storage, parts: Parts): Queries {
  const queries = prepareSubscriberQueries(storage);
  const tokens: string[] = [];
  const confirmed: string[] = [];
  const sweep = openNewsletterSweep(parts);
  const subscribed = { contractor: 'c-1', made_by: 'id', consent_recorded_at: now() };
  return {
    'subscribers: subscribed': async () => {
      const token = random();
      tokens.push(token);
      const links = { confirm_token: token, leave_token: token };
      const row = { id: newId(), email: random(), ...subscribed, ...links };
      await storage.write(queries.subscribe({ ...row, now: now(), expires_at: LATER }));
    },
    'subscribers: by address': () => storage.read(queries.byEmail({ email: random() })),
    'subscribers: by link': () => storage.read(queries.byConfirmToken({ token: random() })),
    'subscribers: confirmed': async () => {
      const token = next(tokens);
      confirmed.push(token);
      await storage.write(queries.confirm({ token, now: now(), at: now() }));
    },
    'subscribers: left': () => storage.write(queries.unsubscribe({ token: next(confirmed), now: now(), at: now() })),
    'subscribers: swept, none': () => sweep.work(),
    'subscribers: listed': () => listSubscribers(storage, {}, PAGE_ROWS),
  };
}

function ofConsole(storage: Storage): Queries {
  const sessions = openSessions({ storage, clock, newId });
  const record = recorder({ storage, newId, clock }, 'bench');
  return {
    'console: nobody’s cookie': () => sessions.find(newToken()),
    'console: an entry written': () => record('saw_leads', { count: PAGE_ROWS }),
    'console: entries listed': () => latestEntries(storage, PAGE_ROWS),
  };
}

/** Returns and removes the first of the rows that earlier queries created. */
function next<T>(created: T[]): T {
  const one = created.shift();
  if (one === undefined) throw new Error('Nothing is left to be changed.');
  return one;
}
