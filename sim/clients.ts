/** Credentials of the simulated agents. These credentials allow every request at any time. */
import type { ExecuteParts } from '../src/actions/execute.ts';
import { digestOfToken } from '../src/credentials/file.ts';

/** Names of the clients. Each name is also the client's token. */
export const CLIENTS = ['alpha', 'beta'] as const;

const SCOPES = new Set(['lead:preview', 'lead:create']);

export const credentials: ExecuteParts['credentials'] = {
  find: (digest) => {
    const name = CLIENTS.find((client) => digestOfToken(client) === digest);
    return name && { name, scopes: SCOPES };
  },
  mayStill: () => true,
  labelOf: (name) => name,
  reload: async () => {},
  state: () => ({ clients: CLIENTS.length, fault: undefined }),
  clients: () => [],
  lastUse: () => undefined,
  close: () => {},
};
