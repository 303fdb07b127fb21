import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import { openSqlite } from '../../../src/storage/sqlite/store.ts';
import { startWarm } from '../../support/disk.ts';
import { injected } from '../../support/injected.ts';
import { attempt, previewLeads } from '../../support/leads.ts';
import { temporaryFolder } from '../../support/process.ts';
import { startUpstream } from '../../support/upstream.ts';

// A write-ahead log (WAL) is a header, then frames of one page each.
const HEADER_BYTES = 32;
const FRAME_BYTES = 24 + 4_096;

/** Distance between cuts inside frames. The seed chooses the offset. */
const STRIDE_BYTES = 1_499;
const seed = Number(process.env.PROPERTY_SEED ?? 0);

/** Number of parts of the log. Each test cuts in one part, so that it ends soon. */
const PARTS = 6;

/** A claim (acknowledged by its send) or a receipt (by its answer), with the length of the WAL at that moment. */
type Acknowledged = { length: number; actionId: string; statuses: string[] };

const acknowledged: Acknowledged[] = [];
let database: Buffer;
let whole: Buffer;

beforeAll(async () => {
  const upstream = await startUpstream();
  const service = await startWarm(upstream);
  const wal = join(service.dataDir, 'service.db-wal');
  const length = () => statSync(wal).size;
  const final = ['submitted'];

  upstream.answer = (response, { event }) => {
    const actionId = String(event.data.id);
    acknowledged.push({ length: length(), actionId, statuses: ['executing', ...final] });
    response.writeHead(200).end();
  };
  for (const lead of await previewLeads(service, 8)) {
    const answer = await attempt(service, lead);
    const actionId = answer?.body.receipt.action_id;
    acknowledged.push({ length: length(), actionId, statuses: final });
  }
  database = readFileSync(join(service.dataDir, 'service.db'));
  whole = readFileSync(wal);
  await service.end();
  await upstream.close();
  expect(acknowledged).toHaveLength(16);
  // The WAL only grew, so each length identifies one moment.
  expect(new Set(acknowledged.map((each) => each.length)).size).toBe(16);
});

/** Returns positions at which to cut the log: around every edge of a frame, at the end, and a sample between. */
function allCuts(from: number): number[] {
  const cuts = new Set([from, whole.length]);
  for (let edge = HEADER_BYTES; edge <= whole.length; edge += FRAME_BYTES) {
    for (const cut of [edge - 1, edge, edge + 1]) cuts.add(cut);
  }
  for (let cut = from + (seed % STRIDE_BYTES); cut < whole.length; cut += STRIDE_BYTES) cuts.add(cut);
  return [...cuts].filter((cut) => cut >= from && cut <= whole.length).sort((a, b) => a - b);
}

test.for(Array.from({ length: PARTS }, (_, at) => ({ part: at + 1 })))(
  `SQLite keeps every acknowledged claim and receipt if power fails at any later byte of the log, part $part of ${PARTS}`,
  async ({ part }, context) => {
    const path = join(temporaryFolder(), 'service.db');
    const all = allCuts(acknowledged[0]?.length ?? expect.fail());
    const cuts = all.slice(Math.floor(((part - 1) * all.length) / PARTS), Math.floor((part * all.length) / PARTS));
    expect(cuts.length).toBeGreaterThan(10);
    for (const cut of cuts) {
      rmSync(`${path}-shm`, { force: true });
      writeFileSync(path, database);
      writeFileSync(`${path}-wal`, whole.subarray(0, cut));
      const storage = await openSqlite(path, systemClock);
      const rows = await storage.read((db) => db.selectFrom('executions').select(['action_id', 'status']));
      await storage.close();
      injected(context, 'power loss, the WAL cut');
      const statusOf = new Map(rows.map(({ action_id: id, status }) => [id, status as string]));
      for (const { length, actionId, statuses } of acknowledged) {
        if (length <= cut) expect(statuses, `cut at ${cut}`).toContain(statusOf.get(actionId));
      }
    }
  },
);
