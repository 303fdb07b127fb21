/** Defects of what a person presses (beyond §9). */
import type { Defect } from './defect.ts';

const PRESS_QUERIES = 'src/actions/press-queries.ts';

export const defectsOfConfirmations: readonly Defect[] = [
  {
    name: 'a press that is not conditional',
    edits: [
      {
        file: PRESS_QUERIES,
        find: "      .where('status', '=', 'asked')\n      .where((row) => isAlive(row, of.now));",
        replace: '      .where((row) => isAlive(row, of.now));',
      },
    ],
  },
  {
    name: 'a confirmation outside the unique keys',
    edits: [
      {
        file: 'src/actions/asked.ts',
        find: 'const row = { ...rowOfRequest(request, createdAt), ...asked };',
        replace: `const unique = { idempotency_key: \`asked \${request.actionId}\`, preview_digest: \`asked \${request.actionId}\` };
      const row = { ...rowOfRequest(request, createdAt), ...asked, ...unique };`,
      },
    ],
  },
  {
    name: 'an execute that ignores a decline',
    edits: [
      {
        file: 'src/actions/examine-preview.ts',
        find: "  if (status === 'declined' || status === 'reported') return { kind: 'confirmationDeclined' };\n",
        replace: '',
      },
    ],
  },
];
