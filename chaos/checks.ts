/** Compares everything that a run observed with the invariants that must hold after its faults. */
import { checkStored, type StoredSubmission, type StoredTotals } from './kept.ts';
import { type Delivery, type Ledger, type Mail, type Preview, report } from './ledger.ts';

const PREVIEW_LIFETIME_MS = 600_000;
const PREVIEWS_A_MINUTE = 60;
/**
 * Tolerance for data in transit, in milliseconds. A fault is recorded before its signal is sent, and data in transit
 * still arrives after the fault.
 */
const ON_ITS_WAY_MS = 500;
/** Longest time for which an instance counts requests locally after a fault of Redis. */
const REDIS_SETTLES_MS = 4_000;

/** Observations that are counted but are no violations. */
export type Apart = {
  failedYetDelivered: number;
  copiesAtAKill: number;
  windowsJudged: number;
  windowsBesideRedisFaults: number;
  stored: StoredTotals;
};

export type StoredExecution = { action_id: string; status: string };

/** Adds every violation to the ledger. Returns the observations that are counted separately. */
export function check(
  ledger: Ledger,
  stored: readonly StoredExecution[],
  submissions: readonly StoredSubmission[],
): Apart {
  const byMarker = Map.groupBy(ledger.deliveries, ({ marker }) => marker);
  const byId = Map.groupBy(ledger.deliveries, ({ webhookId }) => webhookId);
  const previews = [...ledger.previews.values()];
  const of = (marker: string) => byMarker.get(marker) ?? [];
  for (const preview of previews) checkPreview(ledger, preview, of(preview.marker));
  for (const { origin, marker, webhookId } of ledger.deliveries) {
    if (origin === 'agent' && !ledger.previews.has(marker)) {
      report(ledger, 'only what was confirmed is delivered', `delivery ${webhookId} of no preview`);
    }
  }
  for (const { action_id: id, status } of stored) {
    const delivered = byId.get(id)?.length ?? 0;
    if (status === 'executing') report(ledger, 'every claim is settled', `${id} is executing`);
    if (status === 'submitted' && delivered !== 1) {
      report(ledger, 'a submitted receipt has one delivery', `${id} has ${delivered}`);
    }
  }
  checkAgreement(ledger, stored, submissions);
  const failed = previews.filter(({ keys }) => keys.some(({ final }) => final === 'failed'));
  return {
    failedYetDelivered: failed.filter(({ marker }) => of(marker).length > 0).length,
    copiesAtAKill: checkMails(ledger),
    stored: checkStored(ledger, submissions),
    ...checkWindows(ledger),
  };
}

function checkPreview(ledger: Ledger, preview: Preview, deliveries: readonly Delivery[]): void {
  const violate = (rule: string, detail: string) => report(ledger, rule, detail, preview);
  if (deliveries.length > 1) {
    violate('at most one delivery for a preview', `${preview.marker} has ${deliveries.length}`);
  }
  for (const { key, final, receipts, firstAnswers } of preview.keys) {
    if (receipts.size > 1) violate('the same receipt for ever', `${key}: ${[...receipts].join(' and ')}`);
    if (firstAnswers > 1) violate('a second 200 says that it is a replay', key);
    if (final === undefined) violate('every key has a final answer', key);
    if (final === 'submitted') {
      const { action_id: id } = JSON.parse([...receipts][0] ?? '{}');
      if (deliveries.length !== 1 || deliveries[0]?.webhookId !== id) {
        violate('a 200 has exactly one delivery', `${key}, execution ${id}`);
      }
    }
    if (final === 'expired') {
      const age = (preview.timeline.at(-1)?.at ?? 0) - preview.obtainedAt;
      if (age < PREVIEW_LIFETIME_MS || deliveries.length > 0) violate('no unexpected status', key);
    }
  }
  const winners = preview.keys.filter(({ receipts }) => receipts.size > 0);
  const losers = preview.keys.filter(({ final }) => final === 'alreadyUsed');
  if (winners.length > 1) violate('one winner for a preview', `${winners.length} keys have receipts`);
  if (losers.length > 0 && winners.length === 0) violate('one winner for a preview', 'none');
}

/**
 * Checks that execution and submission agree. A confirmation that arrives after the lease is recorded in the submission
 * only.
 */
function checkAgreement(
  ledger: Ledger,
  stored: readonly StoredExecution[],
  submissions: readonly StoredSubmission[],
): void {
  const statuses = new Map(submissions.map((row) => [row.id, row.status]));
  for (const { action_id: id, status } of stored) {
    const agreed = { submitted: ['delivered'], failed: ['undelivered', 'delivered'] }[status];
    if (agreed !== undefined && !agreed.includes(statuses.get(id) ?? 'none')) {
      const detail = `${id} is ${status}, its submission ${statuses.get(id)}`;
      report(ledger, 'execution and submission agree', detail);
    }
  }
  const executed = new Set(stored.map(({ action_id }) => action_id));
  for (const { id, origin } of submissions) {
    if (origin === 'agent' && !executed.has(id)) {
      report(ledger, 'no submission without its execution', id);
    }
  }
}

/** Returns the addresses of new subscribers whose request got a 200. Each of these subscribers must get a message. */
export function owedMessages(ledger: Ledger): string[] {
  const byAttempt = new Map(ledger.deliveries.map((delivery) => [delivery.attempt, delivery]));
  return ledger.attempts
    .filter(({ path, status }) => path === '/api/subscribe' && status === 200)
    .filter(({ marker }) => byAttempt.get(marker)?.status === 200)
    .map(({ email }) => email);
}

function checkMails(ledger: Ledger): number {
  const byAddress = Map.groupBy(ledger.mails, ({ address }) => address);
  for (const email of owedMessages(ledger)) {
    if (byAddress.has(email)) continue;
    const attempt = ledger.attempts.find((each) => each.email === email && each.status === 200);
    report(ledger, 'every confirmation arrives', `${email}, answered at ${attempt?.to} ms`);
  }
  let twice = 0;
  for (const [address, mails] of byAddress) {
    const ids = new Set(mails.map(({ messageId }) => messageId));
    if (ids.size > 1) report(ledger, 'one Message-ID for a message', address);
    const copies = mails.slice(1).map((copy, before) => [mails[before], copy] as const);
    if (copies.every(([first, second]) => first && wasInFlightAtAKill(ledger, first, second))) {
      twice += copies.length;
    } else {
      const times = mails.map(({ at, sender }) => `${Math.round(at)} ms from ${sender}`);
      report(ledger, 'a message comes twice only at a kill', `${address} at ${times.join(', ')}`);
    }
  }
  return twice;
}

/** Returns true if the sender or the server died between the first copy and the second copy. */
function wasInFlightAtAKill(ledger: Ledger, first: Mail, second: Mail): boolean {
  return ledger.faults.some(
    ({ name, target, from }) =>
      ((name.startsWith('kill -9') && target === first.sender) || name === 'SMTP stopped') &&
      from >= first.at - ON_ITS_WAY_MS &&
      from <= second.at,
  );
}

function checkWindows(ledger: Ledger) {
  const isBesideFault = ({ from, to }: Ledger['windows'][number]) =>
    ledger.faults.some(
      (fault) => fault.name.startsWith('Redis') && fault.from <= to && fault.to >= from - REDIS_SETTLES_MS,
    );
  const judged = ledger.windows.filter((window) => !isBesideFault(window));
  for (const window of judged) {
    const { from, to, sent, accepted, refused } = window;
    if (accepted <= PREVIEWS_A_MINUTE) continue;
    const detail = `${accepted} of ${sent} accepted, ${refused} refused, from ${Math.round(from)} to ${Math.round(to)} ms`;
    report(ledger, 'no limit exceeded while Redis was up', detail, window);
  }
  return {
    windowsJudged: judged.length,
    windowsBesideRedisFaults: ledger.windows.length - judged.length,
  };
}
