/** Defects of executions and of forms. */
import type { Defect } from './defect.ts';

const EXECUTIONS = 'src/actions/executions.ts';
const COMPLETION = 'src/actions/complete-execution.ts';
const PENDING_WRITES = 'src/storage/pending-writes.ts';
const SUBMIT = 'src/submissions/attempts.ts';
const EXAMINE = 'src/actions/preview-token.ts';
const RECEIPTS = 'src/receipts/receipts.ts';
const LEADS = 'src/intake/leads.ts';

export const defectsOfTheChains: readonly Defect[] = [
  {
    name: 'executions have no fence',
    edits: [
      {
        file: EXECUTIONS,
        find: 'const mayStart = () => clock.monotonic() - claimedAt < leaseMs - upstreamTimeoutMs;',
        replace: 'const mayStart = () => claimedAt > 0;',
      },
    ],
  },
  {
    name: 'a replay reads memory only',
    edits: [
      {
        file: EXECUTIONS,
        find: '      let rows = await storage.read(find);',
        replace:
          '      if (!known.has(previewDigest)) return { byKey: undefined, byPreview: undefined };\n      let rows = await storage.read(find);',
      },
      {
        file: EXECUTIONS,
        find: '    if (claimed === 0) return undefined;',
        replace: '    if (claimed === 0) return undefined;\n    known.add(request.preview_digest);',
      },
      {
        file: EXECUTIONS,
        find: '  const now = () => isoTime(clock.now().getTime());',
        replace: '  const now = () => isoTime(clock.now().getTime());\n  const known = new Set<string>();',
      },
    ],
  },
  {
    name: 'leases use the wall clock',
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
    name: 'a key counts as stored before its commit is durable',
    edits: [
      {
        file: EXECUTIONS,
        find: 'const claimed = await completion.trackUntilWritten(request, NEVER_SENT, () => write(row));',
        replace: 'void write(row).catch(() => {});\n    const claimed = 1 as number;',
      },
    ],
  },
  {
    name: 'an unconfirmed send is repeated under a new id',
    edits: [
      {
        file: SUBMIT,
        find: '  const outcome = await upstream.deliver(sent, delivery);',
        replace: `  let outcome = await upstream.deliver(sent, delivery);
  if (outcome.kind === 'unconfirmed') {
    const id = \`\${sent.id}-again\`;
    const again = { ...sent, id, body: sent.body.replace(sent.id, id) };
    outcome = await upstream.deliver(again, delivery);
  }`,
      },
    ],
  },
  {
    name: 'a second failure loses an unwritten confirmed outcome',
    edits: [
      {
        file: PENDING_WRITES,
        find: '        await follow(key, write());\n        pending.delete(key);',
        replace: '        pending.delete(key);\n        await follow(key, write());',
      },
    ],
  },
  {
    name: 'recovery settles a lease before the unwritten outcome is written',
    edits: [
      {
        file: COMPLETION,
        find: '      await idle();\n      await flush();\n',
        replace: '',
      },
    ],
  },
  {
    name: 'the embedded inbox delivers after the claim was settled',
    edits: [
      {
        file: EXECUTIONS,
        find: 'if (stored > 0) return { outcome: DELIVERED',
        replace:
          "if (stored === 0) await storage.write((tx) => tx.insertInto('submissions').values({ id: action_id, ...submission, origin: 'agent', received_ms: 0, status: 'delivered', status_since_ms: 0, stored_here: 1, progress: 'new', attempts: '[]', attempt_number: 1, attempt_by: 'first' } as never).execute());\n      if (stored > 0) return { outcome: DELIVERED",
      },
    ],
  },
  {
    name: 'a preview under another key is reported as in progress',
    edits: [
      {
        file: EXAMINE,
        find: '  if (byPreview === undefined) return undefined;\n',
        replace:
          "  if (byPreview === undefined) return undefined;\n  if (byPreview.status === 'executing') return { kind: 'inProgress' };\n",
      },
    ],
  },
  {
    name: 'a lead counts as accepted unless it was rejected',
    edits: [
      {
        file: LEADS,
        find: "if (outcome.kind !== 'confirmed') return",
        replace: "if (outcome.kind === 'rejected') return",
      },
    ],
  },
  {
    // The simulator found this defect in the source.
    name: 'a process ends without writing its unwritten outcomes',
    edits: [
      {
        file: EXECUTIONS,
        find: 'close: (): Promise<void> => completion.flush().catch(() => {}),',
        replace: 'close: async (): Promise<void> => {},',
      },
    ],
  },
  {
    name: 'each request signs the receipt again',
    edits: [
      {
        file: RECEIPTS,
        find: 'if (row.signed_receipt !== null || keys.signing === undefined)',
        replace: 'if (keys.signing === undefined)',
      },
      { file: RECEIPTS, find: ".where('signed_receipt', 'is', null)", replace: '' },
    ],
  },
  {
    name: 'a later signature overwrites the first',
    edits: [{ file: RECEIPTS, find: ".where('signed_receipt', 'is', null)", replace: '' }],
  },
  {
    name: 'every failed lead is reported as not sent',
    edits: [{ file: LEADS, find: "'unsent' in outcome ? 'unsent' : 'unconfirmed'", replace: "'unsent'" }],
  },
];
