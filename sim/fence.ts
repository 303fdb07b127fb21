/** Checks invariants 5 and 9 when the first byte of a send leaves. */

import type { SubmissionRow } from '../src/storage/schema.ts';
import type { Event, Outcome } from '../src/upstream/upstream.ts';
import type { Ledger } from './ledger.ts';
import type { SimulatedProcess } from './process.ts';
import type { Store } from './store.ts';

/** A send that has begun. `over` is true once the process has the send's outcome. */
type Begun = { process: SimulatedProcess; at: number; over: boolean };

type SentRow = Pick<SubmissionRow, 'status' | 'origin' | 'lease_started_ms' | 'lease_ms' | 'attempt_by'>;

/** Pause of redelivery after an attempt that got no HTTP status. */
const RESTS_MS = 60_000;

export type Fence = {
  /** Checks a send that begins. The returned function ends it. */
  begin(process: SimulatedProcess, sentId: string, event: Event): (outcome: Outcome) => void;
};

/** Opens the checks. `timeoutMs` limits a send, because a process that is stopped for longer loses its connection. */
export function openFence(
  store: Store,
  ledger: Ledger,
  { time, timeoutMs }: { time: () => number; timeoutMs: number },
): Fence {
  const begun = new Map<string, Begun>();
  const restsUntil = new Map<SimulatedProcess, number>();

  /** Checks invariant 5: no send begins after its receipt is final. */
  function judgeExecution(id: string): void {
    const rows = store.read<{ status: string }>('select status from executions where action_id = ?', id);
    const status = rows?.[0]?.status;
    if (status === undefined || status === 'executing') return;
    ledger.violate(5, `a send of ${id} begins, and its receipt is ${status}`);
  }

  /** Checks that no send begins after its lease (invariant 5) or before its row is stored (invariant 9). */
  function judgeRow(id: string, email: string | undefined): SentRow | undefined {
    if (ledger.unstored.has(id)) return undefined;
    const rows = store.read<SentRow>(
      'select status, origin, lease_started_ms, lease_ms, attempt_by from submissions where id = ?',
      id,
    );
    // A transaction is open, so rows can't be read.
    if (rows === undefined) return undefined;
    const [row] = rows;
    if (row === undefined) {
      if (email !== undefined && ledger.erased.has(email)) return undefined;
      ledger.violate(9, `a send of ${id} begins, and it is kept nowhere`);
      return undefined;
    }
    if (row.status !== 'sending' && row.origin === 'browser') {
      ledger.violate(5, `a send of ${id} begins, and its row is ${row.status}`);
      return row;
    }
    if (row.lease_started_ms === null || row.lease_ms === null) return row;
    if (row.lease_started_ms + row.lease_ms <= store.medium.leaseClock()) {
      ledger.violate(5, `a send of ${id} begins, and its lease has run out`);
    }
    return row;
  }

  /** Checks invariant 5: no row has two sends at a time. */
  function judgeOthers(id: string): void {
    const earlier = begun.get(id);
    if (earlier === undefined) return;
    const { process, at, over } = earlier;
    if (!over && process.isAlive() && time() < at + timeoutMs) {
      ledger.violate(5, `a send of ${id} begins while another is under way`);
    }
  }

  return {
    begin(process, sentId, { data: { id, origin, fields } }) {
      if (sentId !== id) ledger.violate(9, `${id} is sent as ${sentId}`);
      if (origin === 'agent') judgeExecution(id);
      const row = judgeRow(id, fields.email);
      const isRedelivery = row?.attempt_by === 'redelivery';
      if (isRedelivery && time() < (restsUntil.get(process) ?? 0)) {
        ledger.violate(7, `${process.name} redelivers ${id}, and the upstream is away`);
      }
      judgeOthers(id);
      const one: Begun = { process, at: time(), over: false };
      begun.set(id, one);
      return (outcome) => {
        one.over = true;
        const isAway = outcome.kind === 'unconfirmed' && outcome.status === undefined;
        if (isRedelivery && isAway) restsUntil.set(process, time() + RESTS_MS);
      };
    },
  };
}
