/** The agents of the simulator, who may always do everything. */
import type { ExecuteParts } from '../src/actions/execute.ts';
import { digestOfToken } from '../src/credentials/tokens.ts';

/** Their tokens are their names. */
export const CLIENTS = ['alpha', 'beta'] as const;

const SCOPES = new Set(['lead:preview', 'lead:create']);

export const credentials: ExecuteParts['credentials'] = {
  find: (digest) => {
    const name = CLIENTS.find((client) => digestOfToken(client) === digest);
    return name && { name, scopes: SCOPES };
  },
  mayStill: () => true,
  state: () => ({ clients: CLIENTS.length, fault: undefined }),
  clients: () => [],
  lastUse: () => undefined,
  close: () => {},
};
