/** Credentials of the simulated agents. These credentials allow every request at any time. */
import type { ExecuteParts } from '../src/actions/execute.ts';
import { SCOPES } from '../src/credentials/clients.ts';
import { digestOfToken } from '../src/credentials/file.ts';

/** Names of the clients. Each name is also the client's token. */
export const CLIENTS = ['alpha', 'beta'] as const;

/** A sandbox client. Nothing of it may leave the service. */
export const TESTER = 'tester';

const scopes = new Set(SCOPES);

export const credentials: ExecuteParts['credentials'] = {
  find: (digest) => {
    const name = [...CLIENTS, TESTER].find((client) => digestOfToken(client) === digest);
    return name === undefined ? undefined : { name, scopes, sandbox: name === TESTER };
  },
  mayStill: () => true,
  labelOf: (name) => name,
  reload: async () => {},
  state: () => ({ clients: CLIENTS.length, fault: undefined }),
  clients: () =>
    [...CLIENTS, TESTER].map((name) => ({ name, scopes: [...SCOPES], sandbox: name === TESTER, credentials: [] })),
  lastUse: () => undefined,
  close: () => {},
};
