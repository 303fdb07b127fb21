/** What became of every submission of a browser: rows, deliveries and answers held against one another (beyond §1, §9). */
import { type Delivery, type FormAttempt, type Ledger, report } from './ledger.ts';
import { REJECTIONS } from './upstream.ts';

/** A row of `submissions` as a run ends. */
export type StoredSubmission = {
  id: string;
  origin: 'browser' | 'agent';
  status: string;
  reason: string | null;
  /** The body that is sent. */
  event: string;
  /** JSON lines. */
  attempts: string;
};

/** How many rows stand how, and how many answers were held against them. */
export type Kept = {
  rows: number;
  delivered: number;
  waiting: number;
  /** By the reason that the row gives. */
  undelivered: Record<string, number>;
  /** Delivered rows that the upstream has more than once, under one id: an attempt's end was not known. */
  arrivedAgain: number;
  /** Answers of 502, by what their sentence says of the submission. */
  told: Record<string, number>;
  /**
   * Sent unkept, and kept after all: its first commit had an unknown outcome, and its sender died before it could
   * end the row, which so counts as any other whose sender died.
   */
  keptAfterAll: number;
  /** Told that nothing more happens by itself, and sent again: its sender died before it could write that. */
  sentAfterAll: number;
  lost: number;
};

type Row = StoredSubmission & { outcomes: string[] };

/** Writes every violation into the ledger; returns the totals. */
export function checkKept(ledger: Ledger, stored: readonly StoredSubmission[]): Kept {
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
  const standing = (status: string) => browsers.filter((row) => row.status === status);
  return {
    rows: browsers.length,
    delivered: standing('delivered').length,
    waiting: standing('waiting').length,
    undelivered: countBy(standing('undelivered').map(({ reason }) => `${reason}`)),
    arrivedAgain: standing('delivered').filter(({ id }) => (byId.get(id) ?? []).length > 1).length,
    told: countBy(ledger.attempts.flatMap(({ sentence }) => sentence ?? [])),
    keptAfterAll: ledger.attempts.filter(
      ({ marker, sentence }) => isUnkept(sentence) && diedWith(byMarker.get(marker)?.[0]),
    ).length,
    sentAfterAll: ledger.attempts.filter(
      ({ marker, sentence }) =>
        sentence === 'left' && byMarker.get(marker)?.[0]?.status !== 'undelivered',
    ).length,
    lost: lost.length,
  };
}

/** Whether a kept submission has arrived, or its row says why not; and how often, and what of it. */
function checkRow(ledger: Ledger, row: Row, deliveries: readonly Delivery[]): boolean {
  const { id, status, reason, outcomes } = row;
  const violate = (rule: string, detail: string) => report(ledger, rule, `${id}: ${detail}`);
  const told = `${status} ${reason}, attempts ${outcomes.join(', ')}, ${deliveries.length} deliveries`;
  if (deliveries.some(({ body }) => body !== row.event)) {
    violate('one body under one id', told);
  }
  // A try that has provably not left is repeated within its attempt, and reaches nobody.
  if (deliveries.length > Math.max(outcomes.length, 1)) {
    violate('one send for an attempt', told);
  }
  const confirmed = outcomes.filter((outcome) => outcome === 'confirmed').length;
  if (confirmed > 1) violate('what is delivered is not sent again', told);
  if (status === 'sending') violate('no row is under way for ever', told);
  const isTold =
    status === 'delivered'
      ? confirmed > 0 && deliveries.length > 0
      : status === 'waiting'
        ? confirmed === 0
        : status === 'undelivered' && reason !== null && confirmed === 0;
  if (!isTold) violate('no submission that was kept is lost', told);
  return isTold;
}

/** What a person was told is true (promise 11). */
function checkAnswer(
  ledger: Ledger,
  attempt: FormAttempt,
  rows: readonly Row[],
  deliveries: readonly Delivery[],
): void {
  const { path, marker, status, sentence, reference } = attempt;
  const stands = rows.map((row) => `${row.id} ${row.status} ${row.reason} [${row.outcomes}]`);
  const told = `${path} ${status} ${sentence ?? ''} ${marker}, reference ${reference}: ${stands.join(' and ')}, ${deliveries.length} deliveries`;
  const ids = new Set(
    [...rows, ...deliveries].map((one) => ('id' in one ? one.id : one.webhookId)),
  );
  if (rows.length > 1 || ids.size > 1) report(ledger, 'one row and one id for a request', told);
  const isKept = status === 200 || sentence === 'kept' || sentence === 'left';
  const owed = path === '/api/leads' && isKept ? [...ids][0] : undefined;
  if (reference !== owed) report(ledger, 'a lead that is kept has its reference', told);
  const [rule, holds] = truthOf(attempt, rows[0], deliveries);
  if (!holds) report(ledger, rule, told);
}

/** What an answer promises, and whether it is so. */
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
        row?.status === 'undelivered' ||
          (diedWith(row) && REJECTIONS.includes(deliveries[0]?.status ?? 0)),
      ];
    case 'unsent':
      return ['what was not sent never is', deliveries.length === 0];
    case 'unconfirmed':
      return ['what was sent unkept is not sent again', deliveries.length <= 1 || diedWith(row)];
    case undefined:
      return ['an answer without a promise', true];
  }
}

const isUnkept = (sentence: FormAttempt['sentence']) =>
  sentence === 'unsent' || sentence === 'unconfirmed';

/** Whoever made its first attempt died before it told, or was stopped for longer than its lease. */
const diedWith = (row: Row | undefined) => row?.outcomes[0] === 'unknown';

function outcomesOf(attempts: string): string[] {
  const lines = attempts.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line).outcome);
}

/** What tells a browser's requests from one another: its name, or the site of a subscription. */
function markerOf(event: string): string {
  const { email, contractor } = JSON.parse(event).data.fields;
  return contractor ?? email.split('@', 1)[0];
}

const markerOfDelivery = ({ attempt, marker }: Delivery) => (attempt === '' ? marker : attempt);

function countBy(names: readonly string[]): Record<string, number> {
  const counted = Map.groupBy(names, (name) => name);
  return Object.fromEntries([...counted].sort().map(([name, all]) => [name, all.length]));
}
