/** Defects of a person's answer on the confirmation page (reference §25.3). */
import type { Defect } from './defect.ts';

const QUERIES = 'src/actions/execution-queries.ts';
const PENDING = 'src/confirmations/pending.ts';

export const defectsOfConfirmations: readonly Defect[] = [
  {
    name: 'a sandbox forwards',
    edits: [
      {
        file: 'src/actions/execute.ts',
        find: '...parts.sandbox, isSandbox',
        replace: '...parts.sandbox, upstream: parts.upstream, isSandbox',
      },
    ],
  },
  {
    name: 'a click on “send” is not a conditional update',
    edits: [
      {
        file: QUERIES,
        find: "        .where('status', '=', 'asked')\n        .where((row) =>\n          row.exists(",
        replace: '        .where((row) =>\n          row.exists(',
      },
    ],
  },
  {
    name: 'a confirmation is outside the unique keys',
    edits: [
      {
        file: PENDING,
        find: '          { ...request, created_at },',
        replace: '          { ...request, created_at, idempotency_key: secret_digest, preview_digest: secret_digest },',
      },
    ],
  },
  {
    name: 'a report ends only the reported confirmation',
    edits: [
      {
        file: PENDING,
        find: 'row.mailbox_digest === mailbox_digest',
        replace: 'row.id === id',
      },
    ],
  },
  {
    name: 'execute ignores a decline',
    edits: [
      {
        file: 'src/actions/preview-token.ts',
        find: "  if (status === 'declined' || status === 'reported') return { kind: 'confirmationDeclined' };\n",
        replace: '',
      },
    ],
  },
];
