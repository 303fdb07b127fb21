/** Defects of executions and of forms. */
import type { Defect } from './defect.ts';

const EXECUTIONS = 'src/actions/executions.ts';
const SUBMIT = 'src/submissions/submit.ts';
const EXECUTE = 'src/actions/execute.ts';
const LEADS = 'src/intake/leads.ts';

export const defectsOfTheChains: readonly Defect[] = [
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
    name: 'an unconfirmed send is tried again under a new id',
    edits: [
      {
        file: SUBMIT,
        find: '  const outcome = await parts.upstream.deliver(event, delivery);',
        replace: `  let outcome = await parts.upstream.deliver(event, delivery);
  if (outcome.kind === 'unconfirmed') {
    const again = { ...event, data: { ...event.data, id: \`\${id}-again\` } };
    outcome = await parts.upstream.deliver(again, delivery);
  }`,
      },
    ],
  },
  {
    name: 'what is known of a confirmation is forgotten at a second failure',
    edits: [
      {
        file: EXECUTIONS,
        find: '      await storage.write(settling(claimed, outcome));\n      unresolved.delete(claimed);',
        replace:
          '      unresolved.delete(claimed);\n      await storage.write(settling(claimed, outcome));',
      },
    ],
  },
  {
    name: 'a lease is swept before what is known of it is written',
    edits: [
      {
        file: EXECUTIONS,
        find: '    await Promise.allSettled(underWay.all());\n    await resolve();\n',
        replace: '',
      },
    ],
  },
  {
    name: 'the embedded inbox delivers though the claim is settled',
    edits: [
      {
        file: EXECUTIONS,
        find: 'if ((await tx.change(settling(claim, delivered))) === 0) return await lost(tx, claim);',
        replace:
          'if ((await tx.change(settling(claim, delivered))) === 0) {\n            await deliver(tx);\n            return await lost(tx, claim);\n          }',
      },
    ],
  },
  {
    name: 'a preview that is executed under another key is told as in progress',
    edits: [
      {
        file: EXECUTE,
        find: '  if (byPreview === undefined) return undefined;\n',
        replace:
          "  if (byPreview === undefined) return undefined;\n  if (byPreview.status === 'executing') return { kind: 'inProgress' };\n",
      },
    ],
  },
  {
    name: 'a lead counts as accepted unless it is rejected',
    edits: [
      {
        file: LEADS,
        find: "if (outcome.kind !== 'confirmed') return refusalOf(outcome);",
        replace: "if (outcome.kind === 'rejected') return refusalOf(outcome);",
      },
    ],
  },
  {
    // Stood in the source until the simulator found it.
    name: 'a process ends without writing what it knows',
    edits: [
      {
        file: EXECUTIONS,
        find: 'close: () => resolve().catch(() => {}),',
        replace: 'close: async () => {},',
      },
    ],
  },
  {
    name: 'every failed lead is told as one that was never sent',
    edits: [
      { file: LEADS, find: "'unsent' in outcome ? 'unsent' : 'unconfirmed'", replace: "'unsent'" },
    ],
  },
];
