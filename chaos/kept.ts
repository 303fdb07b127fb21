/** Compares rows, deliveries and answers of every browser submission (reference §10.5, §25.1). */
import { type Delivery, type FormAttempt, type Ledger, report } from './ledger.ts';
import { REJECTIONS } from './upstream.ts';

/** A row of `submissions` at the end of a run. */
export type StoredSubmission = {
  id: string;
  origin: 'browser' | 'agent';
  status: string;
  reason: string | null;
  /** The body of each delivery. */
  event: string;
  /** Attempts as JSON lines. */
  attempts: string;
};

/** Numbers of rows by status, and numbers of answers that were compared with the rows. */
export type StoredTotals = {
  rows: number;
  delivered: number;
  waiting: number;
  /** Numbers of undelivered rows, by the reason in the row. */
  undelivered: Record<string, number>;
  /**
   * Number of delivered rows that the upstream got more than once under one id, because the end of an attempt was
   * unknown.
   */
  arrivedAgain: number;
  /** Number of answers with 502, by the sentence about the submission. */
  answers502: Record<string, number>;
  /**
   * Number of submissions that were sent unstored, but are stored after all. The first commit had an unknown outcome,
   * and the sender died before it could end the row. The row counts like any other row whose sender died.
   */
  storedAfterAll: number;
  /**
   * Number of redelivered submissions whose answer said that nothing more happens. The sender died before it could
   * write the end of the submission.
   */
  sentAfterAll: number;
  lost: number;
};

type Row = StoredSubmission & { outcomes: string[] };

/** Adds every violation to the ledger. Returns the totals. */
export function checkStored(ledger: Ledger, stored: readonly StoredSubmission[]): StoredTotals {
  const rows = stored.map((row) => ({ ...row, outcomes: outcomesOf(row.attempts) }));
  const browsers = rows.filter(({ origin }) => origin === 'browser');
  const byId = Map.groupBy(ledger.deliveries, ({ webhookId }) => webhookId);
  const lost = browsers.filter((row) => !checkRow(ledger, row, byId.get(row.id) ?? []));
  const byMarker = Map.groupBy(browsers, ({ event }) => markerOf(event));
  const arrived = Map.groupBy(ledger.deliveries, markerOfDelivery);
  for (const attempt of ledger.attempts) {
    const { marker } = attempt;
    checkAnswer(ledger, attempt, byMarker.get(marker) ?? [], arrived.get(marker) ?? []);
  }
  const withStatus = (status: string) => browsers.filter((row) => row.status === status);
  return {
    rows: browsers.length,
    delivered: withStatus('delivered').length,
    waiting: withStatus('waiting').length,
    undelivered: countBy(withStatus('undelivered').map(({ reason }) => `${reason}`)),
    arrivedAgain: withStatus('delivered').filter(({ id }) => (byId.get(id) ?? []).length > 1).length,
    answers502: countBy(ledger.attempts.flatMap(({ sentence }) => sentence ?? [])),
    storedAfterAll: ledger.attempts.filter(
      ({ marker, sentence }) => isUnstored(sentence) && diedWith(byMarker.get(marker)?.[0]),
    ).length,
    sentAfterAll: ledger.attempts.filter(
      ({ marker, sentence }) => sentence === 'left' && byMarker.get(marker)?.[0]?.status !== 'undelivered',
    ).length,
    lost: lost.length,
  };
}

/**
 * Returns true if a stored submission has arrived, or if its row has the reason why it did not. Also checks the number
 * and the bodies of its deliveries.
 */
function checkRow(ledger: Ledger, row: Row, deliveries: readonly Delivery[]): boolean {
  const { id, status, reason, outcomes } = row;
  const violate = (rule: string, detail: string) => report(ledger, rule, `${id}: ${detail}`);
  const detail = `${status} ${reason}, attempts ${outcomes.join(', ')}, ${deliveries.length} deliveries`;
  if (deliveries.some(({ body }) => body !== row.event)) {
    violate('one body under one id', detail);
  }
  // A request that provably was not sent is repeated within the same attempt, and does not reach the upstream.
  if (deliveries.length > Math.max(outcomes.length, 1)) {
    violate('one send for an attempt', detail);
  }
  const confirmed = outcomes.filter((outcome) => outcome === 'confirmed').length;
  if (confirmed > 1) violate('what is delivered is not sent again', detail);
  if (status === 'sending') violate('no row is under way for ever', detail);
  const isExplained =
    status === 'delivered'
      ? confirmed > 0 && deliveries.length > 0
      : status === 'waiting'
        ? confirmed === 0
        : status === 'undelivered' && reason !== null && confirmed === 0;
  if (!isExplained) violate('no submission that was kept is lost', detail);
  return isExplained;
}

/** Checks that the answer to a person is true (invariant 11). */
function checkAnswer(
  ledger: Ledger,
  attempt: FormAttempt,
  rows: readonly Row[],
  deliveries: readonly Delivery[],
): void {
  const { path, marker, status, sentence, reference } = attempt;
  const states = rows.map((row) => `${row.id} ${row.status} ${row.reason} [${row.outcomes}]`);
  const detail = `${path} ${status} ${sentence ?? ''} ${marker}, reference ${reference}: ${states.join(' and ')}, ${deliveries.length} deliveries`;
  const ids = new Set([...rows, ...deliveries].map((one) => ('id' in one ? one.id : one.webhookId)));
  if (rows.length > 1 || ids.size > 1) report(ledger, 'one row and one id for a request', detail);
  const isStored = status === 200 || sentence === 'kept' || sentence === 'left';
  const owed = path === '/api/leads' && isStored ? [...ids][0] : undefined;
  if (reference !== owed) report(ledger, 'a lead that is kept has its reference', detail);
  const [rule, holds] = truthOf(attempt, rows[0], deliveries);
  if (!holds) report(ledger, rule, detail);
}

/** Returns the statement of an answer about its submission, and whether the statement is true. */
function truthOf(
  { status, sentence }: FormAttempt,
  row: Row | undefined,
  deliveries: readonly Delivery[],
): [rule: string, holds: boolean] {
  if (status === 200) return ['a 200 has its delivery', deliveries.length > 0];
  switch (sentence) {
    case 'kept':
      return ['what is said to be kept is kept', row !== undefined && row.reason !== 'sent_unkept'];
    case 'left':
      return [
        'what the operator is said to have is undelivered',
        row?.status === 'undelivered' || (diedWith(row) && REJECTIONS.includes(deliveries[0]?.status ?? 0)),
      ];
    case 'unsent':
      return ['what was not sent never is', deliveries.length === 0];
    case 'unconfirmed':
      return ['what was sent unkept is not sent again', deliveries.length <= 1 || diedWith(row)];
    case undefined:
      return ['an answer without a promise', true];
  }
}

const isUnstored = (sentence: FormAttempt['sentence']) => sentence === 'unsent' || sentence === 'unconfirmed';

/**
 * Returns true if the process of the first attempt died before it reported the outcome, or was paused until after its lease expired.
 */
const diedWith = (row: Row | undefined) => row?.outcomes[0] === 'unknown';

function outcomesOf(attempts: string): string[] {
  const lines = attempts.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line).outcome);
}

/** Returns the marker of a browser's request: the name in its address, or the site of a subscription. */
function markerOf(event: string): string {
  const { email, contractor } = JSON.parse(event).data.fields;
  return contractor ?? email.split('@', 1)[0];
}

const markerOfDelivery = ({ attempt, marker }: Delivery) => (attempt === '' ? marker : attempt);

function countBy(names: readonly string[]): Record<string, number> {
  const counted = Map.groupBy(names, (name) => name);
  return Object.fromEntries([...counted].sort().map(([name, all]) => [name, all.length]));
}
