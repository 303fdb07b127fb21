/** OAuth in a simulated process: the real connections, codes and tokens of named clients (reference §26). */
import { hash } from 'node:crypto';
import type { Random } from '../chaos/random.ts';
import { openOauth } from '../src/oauth/oauth.ts';
import { BASE_URL, settings } from './messages.ts';

export const VERIFIER = 'v'.repeat(43);
export const REDIRECT_URI = 'https://chatgpt.com/back';
const RESOURCE = `${BASE_URL}/connect`;

type Given = Pick<Parameters<typeof openOauth>[0], 'storage' | 'credentials' | 'clock' | 'newId' | 'log'>;

/** Opens OAuth in a process. Named clients need no metadata document, so no name is resolved. */
export function openConnecting(given: Given, random: Random) {
  const never = () => {
    throw new Error('No name is resolved.');
  };
  const oauth = openOauth({ ...given, settings, randomSecret: random.bytes, publicLookup: never, frame: never });
  return {
    async connect(client: string) {
      const query = new URLSearchParams({
        ...{ client_id: client, redirect_uri: REDIRECT_URI, resource: RESOURCE, response_type: 'code' },
        ...{ code_challenge: hash('sha256', VERIFIER, 'base64url'), code_challenge_method: 'S256' },
      });
      const pressed = await oauth.press({
        ...{ query, isFromOurPage: true, isSigned: false, giveBack: async () => {} },
        readButton: async () => ({ do: 'connect', token: '' }),
        takeFromLimit: async () => ({ exceeded: false, remaining: 1, resetSeconds: 1 }),
      });
      if (pressed.kind !== 'returned') return { kind: 'refused' as const };
      return { kind: 'connected' as const, code: new URL(pressed.location).searchParams.get('code') ?? '' };
    },
    token: (client: string, sent: Record<string, string>) =>
      oauth.requestTokens(withSecret(client, sent), { authorization: [] }),
    async revoke(client: string, token: string) {
      return (
        (await oauth.revokeToken(withSecret(client, { token }), { authorization: [] })) ?? { kind: 'revoked' as const }
      );
    },
    async access(token: string) {
      const authority = await oauth.checkAccess([`Bearer ${token}`]);
      return { kind: typeof authority === 'string' ? ('invalid' as const) : ('valid' as const) };
    },
  };
}

export type Connecting = ReturnType<typeof openConnecting>;

const withSecret = (client: string, sent: Record<string, string>) =>
  new URLSearchParams({ ...sent, client_id: client, client_secret: client });
