/** The doctor's check of the upstream, with the usual cause of its answer (reference §13.3). */
import { forms } from '../../forms/catalog.ts';
import { isoTime } from '../../platform/clock.ts';
import { noMetrics } from '../../platform/metrics.ts';
import { newId } from '../../platform/random.ts';
import type { Settings } from '../../settings/settings.ts';
import { submit } from '../../submissions/attempts.ts';
import { eventOf } from '../../submissions/submission.ts';
import { openUpstream } from '../../upstream/open.ts';
import type { Outcome } from '../../upstream/upstream.ts';
import { isDatabaseThere, withStorage } from '../open-store.ts';
import { causeOfError, causeOfStatus, tlsMismatch } from './causes.ts';
import { type Check, type Diagnosis, failed, off, ok, type Result } from './check.ts';
import { portOf, speaksTls } from './probes.ts';

const RECEIVER = { setting: 'UPSTREAM_URL', withTls: 'https://', withoutTls: 'http://' };

/** Codes with which a server that expects TLS ends a request in HTTP, if it does not answer 400. */
const HUNG_UP = /^(ECONNRESET|EPIPE|UND_ERR_SOCKET|HTTPParserError)$/;

/** The test event, without its id and time. */
const testSubmission = {
  form: forms.contact,
  fields: {
    name: 'Doctor',
    email: 'doctor@example.com',
    subject: 'Test event',
    message: 'Test event of `npm run doctor`. No person sent it.',
  },
  origin: 'browser',
  client: null,
  consentRecordedAt: null,
  test: true,
} as const;

const delivered = (id: string) => ok(`Test event ${id} was delivered.`);

/**
 * Sends a test event through the usual pipeline, and records how far this machine's clock is ahead of the upstream's
 * clock. With the embedded inbox it only writes to the database.
 */
export const upstream: Check = {
  check: 'upstream',
  remedy: 'Check UPSTREAM_URL and the database.',
  async run(context) {
    const { settings, clock, send } = context;
    const { contractor, operator, database } = settings;
    if (settings.upstream.kind === 'none' || contractor === undefined) {
      return { outcome: 'warning', says: 'The service answers submissions with 503.', remedy: 'Set UPSTREAM_URL.' };
    }
    if (!send) return off('Not tested, because of --no-send.');
    const id = newId();
    const upstream = await openUpstream(settings, clock);
    if (upstream?.embedded !== false) {
      if (!isDatabaseThere(database)) return ok('Leads stay in the database, which the first start creates.');
      // With the embedded inbox, a write to the store is the delivery.
      await withStorage(settings, (storage) => storage.check());
      return delivered(id);
    }
    const onServerTime = (time: number) => {
      if (!Number.isNaN(time)) context.aheadMs = clock.now().getTime() - time;
    };
    try {
      const parties = { contractor, operatorName: operator.name };
      const event = eventOf({ id, ...testSubmission }, parties, isoTime(clock.now().getTime()));
      const delivery = { mayStart: () => true, onServerTime };
      const { outcome } = await submit({ upstream, clock, metrics: noMetrics }, event, delivery, 'first');
      return await resultOf(outcome, id, settings);
    } finally {
      await upstream.close();
    }
  },
};

async function resultOf(outcome: Outcome, id: string, { upstream, upstreamTimeoutMs }: Settings): Promise<Result> {
  if (outcome.kind === 'confirmed') return delivered(id);
  const { status } = outcome;
  const { code, unsent = false } = outcome.kind === 'unconfirmed' ? outcome : {};
  const wantsTls =
    upstream.kind === 'http' &&
    /^http:/i.test(upstream.url) &&
    (status === 400 || HUNG_UP.test(code ?? '')) &&
    (await speaksTls(portOf(upstream.url, 80)));
  const { says, remedy } = wantsTls
    ? tlsMismatch(RECEIVER, true)
    : status !== undefined
      ? causeOfStatus(status)
      : causeOfSilence(code, unsent, upstreamTimeoutMs);
  const happened =
    status !== undefined ? `got status ${status}` : `is not confirmed${code === undefined ? '' : ` (${code})`}`;
  return failed(`Test event ${id} ${happened}. ${says}`, remedy);
}

/**
 * Returns the cause if the upstream gave no answer. `code` is the code of the error, if there is one. `unsent` is true
 * if no byte was sent.
 */
function causeOfSilence(code: string | undefined, unsent: boolean, timeoutMs: number): Diagnosis {
  const usual = causeOfError(code ?? (unsent ? 'ETIMEDOUT' : undefined), RECEIVER);
  if (usual !== undefined) return usual;
  if (code !== undefined) {
    const remedy = 'See the log of the receiver, and check UPSTREAM_URL.';
    return { says: 'The answer of the receiver can’t be read.', remedy };
  }
  const remedy =
    'Make the receiver answer before it processes the event, or raise UPSTREAM_TIMEOUT_MS (at most 60000).';
  return { says: `The receiver did not answer within ${timeoutMs} ms.`, remedy };
}
