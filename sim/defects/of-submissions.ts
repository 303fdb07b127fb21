/** Defects of what is kept, and sent again. */
import type { Defect } from './defect.ts';

const ACCEPT = 'src/submissions/accept.ts';
const KEEP = 'src/submissions/keep.ts';
const EXECUTIONS = 'src/actions/executions.ts';
const EXECUTION_QUERIES = 'src/actions/execution-queries.ts';
const EXECUTION_SETTLING = 'src/actions/settling.ts';
const QUERIES = 'src/submissions/submission-queries.ts';
const RECOVERY = 'src/actions/recovery.ts';
const REDELIVERY = 'src/submissions/redelivery.ts';
const SCHEDULE = 'src/submissions/schedule.ts';
const SETTLING = 'src/submissions/settling.ts';
const SUBMISSIONS = 'src/submissions/submissions.ts';

export const defectsOfSubmissions: readonly Defect[] = [
  {
    name: 'redelivery takes an agent’s row',
    edits: [
      {
        file: QUERIES,
        find: ".where(storage.dialect.partialOn('status', 'waiting'))\n        // In a query of its own: PostgreSQL walks no index up to a clock that may move meanwhile.\n        .where('next_attempt_ms', '<=', db.selectNoFrom(storage.dialect.wallClock.as('now')))",
        replace:
          ".where('status', 'in', ['waiting', 'undelivered'])\n        .where((row) =>\n          row.or([row('next_attempt_ms', '<=', storage.dialect.wallClock), row('reason', '=', 'execution_failed')]),\n        )",
      },
    ],
  },
  {
    name: 'the submission is kept outside the claim’s transaction',
    edits: [
      {
        file: EXECUTION_QUERIES,
        find: 'claim: prepareBoth<Claimed & ExecutionSubmission>(storage, claim, submissions.claim),',
        replace: `claim: prepareChange<Claimed & ExecutionSubmission>(storage, claim),
    keep: prepareChange<Claimed & ExecutionSubmission>(storage, (db, of) =>
      submissions.claim(db, of, storage.dialect.firstChanged),
    ),`,
      },
      {
        file: EXECUTIONS,
        find: '    if (claimed === 0) return undefined;',
        replace:
          '    if (claimed === 0) return undefined;\n    if (!embedded) await storage.write(queries.keep({ ...row, ...submission }));',
      },
    ],
  },
  {
    name: 'redelivery sends under a new id',
    edits: [
      {
        file: SUBMISSIONS,
        find: '{ id, type, body: event }, delivery',
        replace:
          "{ id, type, body: by === 'redelivery' ? event.replaceAll(id, id.replace('0', '9')) : event }, delivery",
      },
    ],
  },
  {
    name: 'there is no fence on redelivery',
    edits: [
      {
        file: SUBMISSIONS,
        find: 'const mayStart = () => clock.monotonic() - takenAt < leaseMs - upstreamTimeoutMs;',
        replace:
          "const mayStart = () =>\n        by === 'redelivery' || clock.monotonic() - takenAt < leaseMs - upstreamTimeoutMs;",
      },
    ],
  },
  {
    name: 'recovery forgets an execution’s submission',
    edits: [
      {
        file: 'src/actions/lapsed.ts',
        find: '        await tx.change(queries.expireSubmission({ action_id, line: lineOf(attempt) }));\n',
        replace: '        if (lineOf(attempt) === action_id) throw new Error();\n',
      },
    ],
  },
  {
    name: 'recovery forgets people’s submissions',
    edits: [
      {
        file: RECOVERY,
        find: "    await settleAloud('submissions', submissions.settleExpired);\n",
        replace: '',
      },
    ],
  },
  {
    name: 'who sends again has a second row',
    edits: [
      {
        file: KEEP,
        find: "if (row !== undefined) return { kind: 'equal', row };",
        replace: "if (row?.id === kept.id) return { kind: 'equal', row };",
      },
    ],
  },
  {
    name: 'a lead is sent before it is kept',
    edits: [
      {
        file: KEEP,
        find: '        if ((await keeping) === 0) {\n',
        replace: '        keeping.catch(() => {});\n        if (call.commit === undefined) {\n',
      },
    ],
  },
  {
    name: 'what was sent unkept is sent again',
    edits: [
      {
        file: SETTLING,
        find: "{ kind: 'undelivered', reason: 'sent_unkept' }",
        replace: "{ kind: 'waiting', step: 0, delayMs: 60_000 }",
      },
    ],
  },
  {
    name: 'taking a row does not name its attempt',
    edits: [
      {
        file: QUERIES,
        find: "        .where('attempt_number', '=', of.attempt_number)\n        .where('status', '=', of.status as SubmissionRow['status'])",
        replace:
          "        .where('status', 'in', ['sending', of.status as SubmissionRow['status']])",
      },
    ],
  },
  {
    name: 'an attempt that ended is forgotten where it can’t be written',
    edits: [
      {
        file: SETTLING,
        find: '        unresolved.set(taken, run);\n        throw error;',
        replace: '        throw error;',
      },
    ],
  },
  {
    name: 'the operator’s attempt moves the schedule on',
    edits: [
      {
        file: SCHEDULE,
        find: "if (by === 'person' || by === 'operator') return",
        replace: "if (by === 'person' || resumedStatus === 'undelivered') return",
      },
    ],
  },
  {
    name: 'a longer Retry-After is not heeded',
    edits: [
      {
        file: SCHEDULE,
        find: "if (outcome.kind !== 'rateLimited') return",
        replace: "if (outcome.kind !== 'rateLimited' || next >= 0) return",
      },
    ],
  },
  {
    name: 'a yes that comes after the lease is not recorded',
    edits: [
      {
        file: EXECUTION_SETTLING,
        find: '    await storage.write(queries.deliverLate({ action_id, line }));\n',
        replace: '',
      },
    ],
  },
  {
    // Stood in the source until the simulator found it.
    name: 'what keeps a submission waits for what waits for it',
    edits: [
      {
        file: KEEP,
        find: "      if (call.calledOff) throw new StorageUnavailable('It was forwarded unkept.');\n",
        replace: '',
      },
      {
        file: ACCEPT,
        find: 'await sendUnkept(submissions, kept, call, traceparent)',
        replace: 'await sendUnkept(submissions, kept, { ...call, commit: keeping }, traceparent)',
      },
    ],
  },
  {
    // Stood in the source until the simulator found it.
    name: 'what was rejected, and is not written yet, is told as kept',
    edits: [
      {
        file: ACCEPT,
        find: "standing: next.kind === 'undelivered' ? 'left' : 'kept'",
        replace:
          "standing: next.kind === 'undelivered' && submissions.isBehind() ? 'kept' : next.kind === 'undelivered' ? 'left' : 'kept'",
      },
    ],
  },
  {
    name: 'redelivery does not rest while the upstream is away',
    edits: [
      {
        file: REDELIVERY,
        find: '&& isAway(outcome)) pausedUntil',
        replace: '&& !isAway(outcome)) pausedUntil',
      },
    ],
  },
];
