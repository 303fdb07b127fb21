/** What requests and workers ask of each table, by the service's own functions. */
import { randomUUIDv7 } from 'node:crypto';
import { prepareExecutionQueries } from '../src/actions/execution-queries.ts';
import { openExecutions } from '../src/actions/executions.ts';
import { openRetention } from '../src/actions/retention.ts';
import { randomSecret } from '../src/chance.ts';
import { systemClock as clock } from '../src/clock.ts';
import { openConfirmations } from '../src/confirmations/confirmations.ts';
import { latestQuestions } from '../src/confirmations/listing.ts';
import { openSweep } from '../src/confirmations/sweep.ts';
import { latestEntries, recorder } from '../src/console/audit.ts';
import { openSessions } from '../src/console/sessions.ts';
import { newToken } from '../src/console/tokens.ts';
import { openRows } from '../src/mail/outbox-rows.ts';
import { listSubscribers } from '../src/newsletter/listing.ts';
import { prepareSubscriberQueries } from '../src/newsletter/subscriber-queries.ts';
import { openNewsletterSweep } from '../src/newsletter/sweep.ts';
import type { Storage } from '../src/storage/database.ts';
import { submissionPage } from '../src/submissions/listing.ts';
import { keysOf } from '../src/submissions/listing-queries.ts';
import { openSubmissionRetention } from '../src/submissions/retention.ts';
import { prepareSubmissionQueries } from '../src/submissions/submission-queries.ts';

const LEASE_MS = 15_000;
const LATER = '9999-12-31T00:00:00.000Z';
const PAGE_ROWS = 50;
const LINE = '{"at":"2026-09-01T12:00:00.000Z","ms":12,"outcome":"confirmed","by":"first"}\n';

const newId = () => randomUUIDv7();
/** As the keys of the rows are: what is looked for lies anywhere among them. */
const random = () => randomSecret(16).toString('hex');
const now = () => clock.now().toISOString();

export type Asked = Record<string, () => Promise<unknown>>;

/** Takes a store that is filled; returns what is asked of it, each under keys of its own. */
export function hotQueries(storage: Storage): Asked {
  // Nobody reads what these tell.
  const told = { clock, storage, log: silent as never, metrics: silent as never };
  return {
    ...ofExecutions(storage, told),
    ...ofSubmissions(storage, told),
    ...ofMessages(storage),
    ...ofSubscribers(storage, told),
    ...ofConsole(storage),
  };
}

const silent = new Proxy({}, { get: () => () => {} });

type Told = { clock: typeof clock; storage: Storage; log: never; metrics: never };

function ofExecutions(storage: Storage, told: Told): Asked {
  const kept = { storage, clock, upstreamTimeoutMs: 10_000, embedded: false, keepsDelivered: true };
  const executions = openExecutions(kept);
  const confirmations = openConfirmations(storage, executions);
  const queries = prepareExecutionQueries(storage, { leaseMs: LEASE_MS, keepsDelivered: true });
  const submission = { form: 'contact', email: random(), telephone: random(), event: '{}' };
  const request = (client: string) => ({
    actionId: newId(),
    action: 'contact',
    client,
    idempotencyKey: random(),
    previewDigest: random(),
    confirmationText: 'text',
    confirmedVia: 'page' as const,
    destination: 'Vetted Painters',
  });
  const asked: ReturnType<typeof request>[] = [];
  const claimed: ReturnType<typeof request>[] = [];
  const sweep = openSweep({
    ...told,
    executions,
    mailboxes: { prepare: async () => {} },
    days: 36_500,
  });
  const receipts = openRetention({ ...told, days: 36_500 });
  return {
    'executions: found by neither': () => executions.find('client', random(), random()),
    'executions: claimed': async () => {
      const claim = request('client');
      claimed.push(claim);
      await executions.claim(
        claim,
        () => submission,
        () => [],
      );
    },
    'executions: settled': () => {
      const { previewDigest: preview_digest, actionId: action_id } = next(claimed);
      const of = { preview_digest, action_id, settled_at: now(), line: LINE };
      return storage.write(queries.submit(of));
    },
    'executions: a receipt': () => executions.findByAction('client', '10000500'),
    'executions: lapsed, none': () => executions.settleExpired(),
    'executions: past retention, none': () => receipts.work(),
    'confirmations: asked': async () => {
      // Only so many wait for one client.
      const ask = request(random());
      asked.push(ask);
      const shown = { via: 'page', destination: ask.destination, fields: '{}' } as const;
      await executions.asked.ask({
        ...ask,
        ...shown,
        secret_digest: ask.previewDigest,
        email: random(),
        mailboxes: [random()],
        lifetimeMs: 86_400_000,
      });
    },
    'confirmations: by its secret': () => confirmations.findBySecret(asked[0]?.previewDigest ?? ''),
    'confirmations: by its id': () => confirmations.find('10000500'),
    'confirmations: pressed': () =>
      executions.press({ ...next(asked), pressId: newId() }, () => submission),
    'confirmations: swept, none': () => executions.asked.expire(),
    'confirmations: deleted, none': () => sweep.work(),
    'confirmations: listed': () => latestQuestions(storage, PAGE_ROWS),
    'reports: of one who never had any': () => executions.isReported(random(), () => [random()]),
    'reports: of one who had all': () => executions.isReported('client', () => [random()]),
  };
}

function ofSubmissions(storage: Storage, told: Told): Asked {
  const queries = prepareSubmissionQueries(storage, { leaseMs: LEASE_MS, keepsDelivered: true });
  const ids: string[] = [];
  const retention = openSubmissionRetention({ ...told, days: 36_500 });
  const looked = { email: random(), telephone: random(), subscriber_id: null };
  return {
    'submissions: the same again': () =>
      storage.read(queries.findEqual({ fields_digest: random() })),
    'submissions: kept': async () => {
      const id = newId();
      ids.push(id);
      const of = { id, form: 'contact', event: '{}', fields_digest: random(), ...looked };
      await storage.write(queries.keep(of));
    },
    'submissions: delivered': () =>
      storage.write(queries.deliver({ id: next(ids), attempt_number: 1, line: LINE })),
    'submissions: looked at': () => storage.read(queries.look({ id: '10000500' })),
    'submissions: due, none': () => storage.read(queries.nextDue({})),
    'submissions: asked for, none': () => storage.read(queries.nextAskedFor({})),
    'submissions: run out, none': () => storage.read(queries.expired({})),
    'submissions: past retention, none': () => retention.work(),
    'submissions: the newest': () =>
      storage.read(keysOf(storage, {}, { direction: 'desc', limit: PAGE_ROWS + 1 })),
    // Of a million it counts ten thousand.
    'submissions: listed and counted': () =>
      submissionPage({ storage, clock }, {}, { limit: PAGE_ROWS }),
    'submissions: listed and counted, waiting': () =>
      submissionPage({ storage, clock }, { status: 'waiting' }, { limit: PAGE_ROWS }),
  };
}

function ofMessages(storage: Storage): Asked {
  const parts = { clock, newId, perMinute: 1_000_000, hostname: 'bench.example' };
  const rows = openRows(storage, parts);
  const taken: NonNullable<Awaited<ReturnType<typeof rows.take>>>[] = [];
  return {
    'messages: added': () => storage.write(rows.messageTo(`${random()}@example.com`)),
    'messages: taken': async () => {
      const row = await rows.take();
      if (row !== undefined) taken.push(row);
    },
    'messages: removed': () => rows.remove(next(taken)),
    'messages: due, none': () => rows.take(),
    'messages: depth': () => rows.depth(),
  };
}

function ofSubscribers(storage: Storage, told: Told): Asked {
  const queries = prepareSubscriberQueries(storage);
  const tokens: string[] = [];
  const confirmed: string[] = [];
  const sweep = openNewsletterSweep(told);
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
    'subscribers: left': () =>
      storage.write(queries.leave({ token: next(confirmed), now: now(), at: now() })),
    'subscribers: swept, none': () => sweep.work(),
    'subscribers: listed': () => listSubscribers(storage, {}, PAGE_ROWS),
  };
}

function ofConsole(storage: Storage): Asked {
  const sessions = openSessions(storage, { clock, newId });
  const record = recorder({ storage, newId, clock }, 'bench');
  return {
    'console: nobody’s cookie': () => sessions.find(newToken()),
    'console: an entry written': () => record('saw_leads', { count: PAGE_ROWS }),
    'console: entries listed': () => latestEntries(storage, PAGE_ROWS),
  };
}

/** What an earlier one of these has left. */
function next<T>(left: T[]): T {
  const one = left.shift();
  if (one === undefined) throw new Error('Nothing is left to be changed.');
  return one;
}
