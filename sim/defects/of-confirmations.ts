/** Defects of a person's answer on the confirmation page (reference §25.3). */
import type { Defect } from './defect.ts';

const QUERIES = 'src/actions/execution-queries.ts';
const PENDING = 'src/confirmations/pending.ts';

export const defectsOfConfirmations: readonly Defect[] = [
  {
    name: 'a press that is not conditional',
    edits: [
      {
        file: QUERIES,
        find: "        .where('status', '=', 'asked')\n        .where((row) =>\n          row.exists(",
        replace: '        .where((row) =>\n          row.exists(',
      },
    ],
  },
  {
    name: 'a confirmation outside the unique keys',
    edits: [
      {
        file: PENDING,
        find: '          { ...request, created_at },',
        replace: '          { ...request, created_at, idempotency_key: secret_digest, preview_digest: secret_digest },',
      },
    ],
  },
  {
    name: 'a report that ends the reported request alone',
    edits: [
      {
        file: PENDING,
        find: 'row.mailbox_digest === mailbox_digest',
        replace: 'row.id === id',
      },
    ],
  },
  {
    name: 'an execute that ignores a decline',
    edits: [
      {
        file: 'src/actions/preview-token.ts',
        find: "  if (status === 'declined' || status === 'reported') return { kind: 'confirmationDeclined' };\n",
        replace: '',
      },
    ],
  },
];
