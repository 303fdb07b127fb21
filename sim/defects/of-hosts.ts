/** Defects of codes and tokens of OAuth (reference §26.6). */
import type { Defect } from './defect.ts';

const CONNECTIONS = 'src/oauth/connections.ts';
const TOKENS = 'src/oauth/tokens.ts';

export const defectsOfHosts: readonly Defect[] = [
  {
    name: 'using a code is not a conditional update',
    edits: [
      {
        file: CONNECTIONS,
        find: "            .where('family_digest', 'is', null)\n            .where('code_expires_at', '>', now),",
        replace: "            .where('code_expires_at', '>', now),",
      },
    ],
  },
  {
    name: 'the second use of a code does not end the connection',
    edits: [
      {
        file: TOKENS,
        find: 'if (connection.family_digest !== null) return await endUsed(parts, connection);',
        replace: 'if (connection.family_digest !== null) return WRONG_GRANT;',
      },
    ],
  },
  {
    name: 'rotating a refresh token is not a conditional update',
    edits: [{ file: CONNECTIONS, find: "            .where('refresh_digest', '=', used)\n", replace: '' }],
  },
  {
    name: 'the second use of a refresh token does not end the connection',
    edits: [
      {
        file: TOKENS,
        find: 'if (connection.refresh_digest !== token.secret.digest) return await endUsed(parts, connection);',
        replace: 'if (connection.refresh_digest !== token.secret.digest) return WRONG_GRANT;',
      },
    ],
  },
  {
    name: 'of two uses at once, the later one does not end the connection',
    edits: [
      {
        file: CONNECTIONS,
        find: 'if (numUpdatedRows === 0n) await endIn(tx, id);\n      else',
        replace: 'if (numUpdatedRows > 0n)',
      },
    ],
  },
];
