/**
 * For each promise a defect that breaks it, as an edit of the source: what is found once in a file, and
 * what a careless hand would have written there. Planted by `plant.ts`, never in the tree.
 */
type Edit = { file: string; find: string; replace: string };

export type Defect = { name: string; edits: readonly Edit[] };

const DRAIN = 'src/operations/drain.ts';
const EXECUTIONS = 'src/actions/executions.ts';
const QUERIES = 'src/actions/execution-queries.ts';
const SCHEMA = 'src/storage/migrations/0004-executions-found-by-preview.ts';
const OUTBOX = 'src/mail/outbox.ts';
const OUTBOX_QUERIES = 'src/mail/outbox-queries.ts';
const SUBMIT = 'src/submissions/submit.ts';

export const defects: readonly Defect[] = [
  {
    name: 'the claim is not atomic',
    edits: [
      {
        file: SCHEMA,
        find: '(column) => column.notNull().unique())',
        replace: '(column) => column.notNull())',
      },
      {
        file: SCHEMA,
        find: ".addUniqueConstraint('executions_client_key', ['client', 'idempotency_key'])",
        replace: '',
      },
    ],
  },
  {
    name: 'there is no fence',
    edits: [
      {
        file: EXECUTIONS,
        find: 'const mayStart = () => clock.monotonic() - claimedAt < leaseMs - upstreamTimeoutMs;',
        replace: 'const mayStart = () => claimedAt > 0;',
      },
    ],
  },
  {
    name: 'settling does not name the claim',
    edits: [
      { file: QUERIES, find: ".where('preview_digest', '=', to.preview_digest)", replace: '' },
      { file: QUERIES, find: ".where('action_id', '=', to.action_id)", replace: '' },
    ],
  },
  {
    name: 'a replay comes from memory alone',
    edits: [
      {
        file: EXECUTIONS,
        find: '      let rows = await storage.read(find);',
        replace:
          '      if (!known.has(previewDigest)) return { byKey: undefined, byPreview: undefined };\n      let rows = await storage.read(find);',
      },
      {
        file: EXECUTIONS,
        find: '      if (claimed === 0) return undefined;',
        replace:
          '      if (claimed === 0) return undefined;\n      known.add(request.previewDigest);',
      },
      {
        file: EXECUTIONS,
        find: '  const unresolved = new Map<ClaimRequest, Outcome>();',
        replace:
          '  const unresolved = new Map<ClaimRequest, Outcome>();\n  const known = new Set<string>();',
      },
    ],
  },
  {
    name: 'the lease goes by the wall clock',
    edits: [
      {
        file: EXECUTIONS,
        find: 'const claimedAt = clock.monotonic();',
        replace: 'const claimedAt = clock.now().getTime();',
      },
      {
        file: EXECUTIONS,
        find: 'clock.monotonic() - claimedAt',
        replace: 'clock.now().getTime() - claimedAt',
      },
    ],
  },
  {
    name: 'a message is marked before it is sent',
    edits: [
      {
        file: OUTBOX,
        find: '    const result = await send(row);\n',
        replace: "    await conclude(row, 'sent');\n    const result = await send(row);\n",
      },
    ],
  },
  {
    name: 'a key counts as kept before it is durable',
    edits: [
      {
        file: EXECUTIONS,
        find: 'const claimed = await keeping(request, NEVER_SENT, () => storage.write(insert));',
        replace: 'void storage.write(insert).catch(() => {});\n      const claimed = 1 as number;',
      },
    ],
  },
  {
    // Stood in the source until the simulator found it.
    name: 'an attempt is under way by the wall clock alone',
    edits: [
      {
        file: OUTBOX_QUERIES,
        find: "row('attempt_started_ms', 'is', null),",
        replace: "row('mailbox', 'is not', null),",
      },
    ],
  },
  {
    name: 'an unconfirmed send is tried again under a new id',
    edits: [
      {
        file: SUBMIT,
        find: '  return parts.upstream.deliver(event, delivery);',
        replace: `  return parts.upstream.deliver(event, delivery).then((outcome) => {
    if (outcome.kind !== 'unconfirmed') return outcome;
    const again = { ...event, data: { ...event.data, id: \`\${id}-again\` } };
    return parts.upstream.deliver(again, delivery);
  });`,
      },
    ],
  },
  {
    name: 'a drain closes the store before the requests have ended',
    edits: [
      {
        file: DRAIN,
        find: 'await steps.endRequests();',
        replace: 'await steps.closeParts();\n      await steps.endRequests();',
      },
    ],
  },
];
