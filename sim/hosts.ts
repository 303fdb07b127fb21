/**
 * Hosts that connect with OAuth, and thieves who have a copy of a code or a refresh token (reference §26.6): invariant
 * 17.
 */
import type { Crowd } from './asking.ts';
import { CLIENTS, TESTER } from './clients.ts';
import { REDIRECT_URI, VERIFIER } from './connecting.ts';
import { count, type Family } from './ledger.ts';

/** Runs one host: connects, uses its code, then refreshes, uses and revokes its tokens. */
export async function connectHost(crowd: Crowd, number: number): Promise<void> {
  const { random, scheduler, ledger } = crowd;
  await scheduler.sleep(random.between(0, 25_000));
  const client = random.pick([...CLIENTS, TESTER]);
  const name = `host ${number}`;
  const connected = await crowd.call(`${name} connects`, ({ connecting }) => connecting.connect(client), 5_000);
  if (connected?.kind !== 'connected') return;
  const { code } = connected;
  const family: Family = { name, client, code, used: new Map(), refresh: [], access: [], isEnded: false };
  ledger.families.push(family);
  await useSome(crowd, family, code);
  for (let times = random.whole(1, 6); times > 0 && !crowd.isOver(); times -= 1) {
    await scheduler.sleep(random.pick([0, random.between(0, 1_000), random.between(0, 8_000)]));
    const [newest, token] = [family.refresh.at(-1), family.access.at(-1)];
    const action = random.pick([
      'refresh',
      'refresh',
      'refresh',
      'steal',
      'access',
      'access',
      'revoke',
      'code',
    ] as const);
    if (action === 'code' && random.chance(0.5)) await useSome(crowd, family, code);
    else if (action === 'refresh' && newest !== undefined) await useSome(crowd, family, newest);
    else if (action === 'steal' && family.refresh.length > 1) await useSome(crowd, family, random.pick(family.refresh));
    else if (action === 'revoke' && newest !== undefined && random.chance(0.3)) await revoke(crowd, family, newest);
    else if (token !== undefined) await checkAccess(crowd, family, token);
  }
  for (const token of family.access.slice(-2)) await checkAccess(crowd, family, token);
}

/** Uses a code or a refresh token once, or several times at once. */
async function useSome(crowd: Crowd, family: Family, secret: string): Promise<void> {
  const uses = Array.from({ length: crowd.random.pick([1, 1, 1, 2, 2, 3]) }, () => useSecret(crowd, family, secret));
  const answers = await Promise.all(uses);
  const isUsedTwice = answers.includes('issued') && answers.includes('oauthGrant');
  // A wrong clock may also refuse a request, because the code seems to have expired.
  if (isUsedTwice && !crowd.ledger.stepped) family.isEnded = true;
}

async function useSecret(crowd: Crowd, family: Family, secret: string): Promise<string> {
  const { ledger, random } = crowd;
  const { name, client, used, isEnded: wasEnded } = family;
  const wasUsed = used.has(secret);
  const isCode = secret === family.code;
  const sent = isCode
    ? { grant_type: 'authorization_code', code: secret, redirect_uri: REDIRECT_URI, code_verifier: VERIFIER }
    : { grant_type: 'refresh_token', refresh_token: secret };
  const what = `${name} uses its ${isCode ? 'code' : `refresh token ${family.refresh.indexOf(secret) + 1}`}`;
  const answer = await crowd.call(what, ({ connecting }) => connecting.token(client, sent), random.pick([300, 5_000]));
  const kind = answer?.kind ?? 'no answer';
  count(ledger.answers, `token: ${kind}`);
  ledger.note(() => `${what} and is told ${kind}`);
  if (answer?.kind === 'issued') {
    if (count(used, secret) > 1) ledger.violate(17, `${what} twice`);
    if (wasEnded) ledger.violate(17, `${what} after the end of the connection`);
    family.refresh.push(answer.body.refresh_token);
    family.access.push(answer.body.access_token);
  }
  // The service ends the connection of a second use before it reads the clock.
  if (kind === 'oauthGrant' && wasUsed) family.isEnded = true;
  return kind;
}

async function revoke(crowd: Crowd, family: Family, token: string): Promise<void> {
  const { name, client } = family;
  const answer = await crowd.call(`${name} revokes`, ({ connecting }) => connecting.revoke(client, token), 5_000);
  if (answer?.kind === 'revoked') family.isEnded = true;
}

async function checkAccess(crowd: Crowd, family: Family, token: string): Promise<void> {
  const { name, isEnded: wasEnded } = family;
  const answer = await crowd.call(`${name} asks for the tools`, ({ connecting }) => connecting.access(token), 5_000);
  count(crowd.ledger.answers, `access: ${answer?.kind ?? 'no answer'}`);
  if (wasEnded && answer?.kind === 'valid') crowd.ledger.violate(17, `${name} has a valid token after its end`);
}
