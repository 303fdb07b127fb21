/** How many submissions have not arrived, for whoever watches (beyond §1, "Metrics"). */
import type { Storage } from '../storage/database.ts';

export type SubmissionCounts = {
  sending: number;
  waiting: number;
  /** Of browsers alone: what an agent's failed execution left is nobody's to send. */
  undelivered: number;
  /** For how long the oldest of those that wait has been here, in seconds; 0 where none waits. */
  oldestWaitingSeconds: number;
};

/** What stands now. Throws `StorageUnavailable`. */
export async function countSubmissions(storage: Storage): Promise<SubmissionCounts> {
  const { wallClock } = storage.dialect;
  const [sending] = await storage.read((db) =>
    db
      .selectFrom('submissions')
      .select((row) => row.fn.countAll<number>().as('rows'))
      .where('status', '=', 'sending'),
  );
  const ended = await storage.read((db) =>
    db
      .selectFrom('submissions')
      .select((row) => [
        'status',
        row.fn.countAll<number>().as('rows'),
        row(wallClock, '-', row.fn.min('received_ms')).as('oldest_ms'),
      ])
      .where('status', 'in', ['waiting', 'undelivered'])
      .where('origin', '=', 'browser')
      .groupBy('status'),
  );
  const of = (status: string) => ended.find((row) => row.status === status);
  return {
    sending: Number(sending?.rows ?? 0),
    waiting: Number(of('waiting')?.rows ?? 0),
    undelivered: Number(of('undelivered')?.rows ?? 0),
    oldestWaitingSeconds: Math.max(Number(of('waiting')?.oldest_ms ?? 0) / 1_000, 0),
  };
}
