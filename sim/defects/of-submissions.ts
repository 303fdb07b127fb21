/** Defects of stored submissions and their redelivery. */
import type { Defect } from './defect.ts';

const ATTEMPTS = 'src/submissions/attempts.ts';
const DELIVER = 'src/submissions/deliver.ts';
const PERSIST = 'src/submissions/persist.ts';
const EXECUTIONS = 'src/actions/executions.ts';
const EXECUTION_QUERIES = 'src/actions/execution-queries.ts';
const EXECUTION_COMPLETION = 'src/actions/complete-execution.ts';
const PENDING_WRITES = 'src/storage/pending-writes.ts';
const QUERIES = 'src/submissions/submission-queries.ts';
const RECOVERY = 'src/actions/recovery.ts';
const REDELIVERY = 'src/submissions/redelivery.ts';
const SCHEDULE = 'src/submissions/schedule.ts';

export const defectsOfSubmissions: readonly Defect[] = [
  {
    name: 'redelivery claims an agent’s row',
    edits: [
      {
        file: QUERIES,
        find: ".where(dialect.partialOn('status', 'waiting'))\n        // PostgreSQL uses the index only if the clock is in its own query.\n        .where('next_attempt_ms', '<=', db.selectNoFrom(dialect.wallClock.as('now')))",
        replace:
          ".where('status', 'in', ['waiting', 'undelivered'])\n        .where((row) =>\n          row.or([row('next_attempt_ms', '<=', dialect.wallClock), row('reason', '=', 'execution_failed')]),\n        )",
      },
    ],
  },
  {
    name: 'the submission is stored outside the transaction of the claim',
    edits: [
      {
        file: EXECUTION_QUERIES,
        find: ': prepareBoth<Of>(storage, claim, insertContent);',
        replace: ': prepareChange<Of>(storage, claim);',
      },
      {
        file: EXECUTION_QUERIES,
        find: '    deliverLate: submissions.deliverLate,',
        replace: `    deliverLate: submissions.deliverLate,
    keep: prepareChange<Claimed & ExecutionSubmission>(storage, (db, of) =>
      submissions.claim(db, of, storage.dialect.firstChanged),
    ),`,
      },
      {
        file: EXECUTIONS,
        find: '    if (claimed === 0) return undefined;',
        replace: '    if (claimed === 0) return undefined;\n    if (!embedded) await storage.write(queries.keep(row));',
      },
    ],
  },
  {
    name: 'redelivery uses a new id',
    edits: [
      {
        file: ATTEMPTS,
        find: '{ id, type, body: event }, delivery',
        replace:
          "{ id, type, body: by === 'redelivery' ? event.replaceAll(id, id.replace('0', '9')) : event }, delivery",
      },
    ],
  },
  {
    name: 'redelivery has no fence',
    edits: [
      {
        file: ATTEMPTS,
        find: 'const mayStart = () => clock.monotonic() - leasedAt < leaseMs - upstreamTimeoutMs;',
        replace:
          "const mayStart = () =>\n        by === 'redelivery' || clock.monotonic() - leasedAt < leaseMs - upstreamTimeoutMs;",
      },
    ],
  },
  {
    name: 'recovery does not end the submission of an execution',
    edits: [
      {
        file: EXECUTION_COMPLETION,
        find: '          await tx.change(queries.expireSubmission({ action_id, line }));\n',
        replace: '          if (line === action_id) throw new Error();\n',
      },
    ],
  },
  {
    name: 'recovery ignores submissions of browsers',
    edits: [
      {
        file: RECOVERY,
        find: "      await settleAndLog('submissions', submissions.settleExpired);\n",
        replace: '',
      },
    ],
  },
  {
    name: 'sending an equal form again creates a second row',
    edits: [
      {
        file: PERSIST,
        find: "if (row !== undefined) return { kind: 'equal', row };",
        replace: "if (row?.id === submission.id) return { kind: 'equal', row };",
      },
    ],
  },
  {
    name: 'a lead is sent before it is stored',
    edits: [
      {
        file: PERSIST,
        find: 'const inserted = await limit.race(insert);',
        replace: 'insert.catch(() => {});\n        const inserted = 1 as number;',
      },
    ],
  },
  {
    name: 'a submission sent unstored is sent again',
    edits: [
      {
        file: ATTEMPTS,
        find: "{ kind: 'undelivered', reason: 'sent_unkept' }",
        replace: "{ kind: 'waiting', step: 0, delayMs: 60_000 }",
      },
    ],
  },
  {
    name: 'claiming a row does not name its attempt',
    edits: [
      {
        file: QUERIES,
        find: "        .where('attempt_number', '=', of.attempt_number)\n        .where('status', '=', of.status)",
        replace: "        .where('status', 'in', ['sending', of.status])",
      },
    ],
  },
  {
    name: 'an ended attempt is lost if it can’t be written',
    edits: [
      {
        file: PENDING_WRITES,
        find: '          pending.set(key, write);\n          throw error;',
        replace: '          throw error;',
      },
    ],
  },
  {
    name: 'an attempt of the operator advances the schedule',
    edits: [
      {
        file: SCHEDULE,
        find: "if (by === 'person' || by === 'operator') return",
        replace: "if (by === 'person' || resumedStatus === 'undelivered') return",
      },
    ],
  },
  {
    name: 'a longer Retry-After is ignored',
    edits: [
      {
        file: SCHEDULE,
        find: "if (outcome.kind !== 'rateLimited') return",
        replace: "if (outcome.kind !== 'rateLimited' || next >= 0) return",
      },
    ],
  },
  {
    name: 'a confirmation of the upstream after the lease is not recorded',
    edits: [
      {
        file: EXECUTION_COMPLETION,
        find: '    await storage.write(queries.deliverLate({ action_id, line }));\n',
        replace: '',
      },
    ],
  },
  {
    // The simulator found this defect in the source.
    name: 'storing a submission and flushing outcomes wait for each other',
    edits: [
      {
        file: PERSIST,
        find: "return { kind: 'notPersisted', insert };",
        replace: "return { kind: 'notPersisted', insert: clock.sleep(RETRY_MS).then(() => pending.flush()) };",
      },
    ],
  },
  {
    // The simulator found this defect in the source.
    name: 'a rejected submission whose row is not written yet is reported as stored',
    edits: [
      {
        file: DELIVER,
        find: "status: next.kind === 'undelivered' ? 'failed' : 'queued'",
        replace: "status: next.kind === 'undelivered' && !leads.pending.hasPendingWrites() ? 'failed' : 'queued'",
      },
    ],
  },
  {
    name: 'redelivery does not pause while the upstream is unavailable',
    edits: [
      {
        file: REDELIVERY,
        find: '&& isAway(outcome)) pausedUntil',
        replace: '&& !isAway(outcome)) pausedUntil',
      },
    ],
  },
];
