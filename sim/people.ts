/** Agents that preview, confirm, give up, repeat requests and race each other. */
import { ACTIONS, type Crowd, executeOnce, fieldsOf } from './asking.ts';
import { CLIENTS } from './clients.ts';
import type { Key } from './ledger.ts';
import { makeMistakes } from './mistakes.ts';
import { readReceipts } from './receipts.ts';

/** Runs one agent: a preview, then its execution under one key or several keys, by one client or two clients. */
export async function useAgent(crowd: Crowd, number: number): Promise<void> {
  const { random, ledger } = crowd;
  const action = random.pick(ACTIONS);
  const token = await previewUntilAnswered(crowd, action, `agent${number}@x.example`);
  if (token === undefined) return;
  if (random.chance(0.3)) await makeMistakes(crowd, number, action, token);
  if (random.chance(0.1)) await crowd.scheduler.sleep(random.between(1_000, 30_000));
  const keys = Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, (_, index) =>
    keyOf(random.pick(CLIENTS), `key-${number}-${index}`, action, token),
  );
  // Each client has its own keys, so the other client may have the same key.
  if (random.chance(0.25)) {
    const client = keys[0]?.client === 'alpha' ? 'beta' : 'alpha';
    keys.push(keyOf(client, `key-${number}-0`, action, token));
  }
  ledger.keys.push(...keys);
  // Some keys run twice at once. This is like a client that gave up and repeats its request while the first request
  // still runs.
  const asking = keys.flatMap((key) => (random.chance(0.4) ? [key, key] : [key]));
  await Promise.all(asking.map((key) => executeRepeatedly(crowd, key)));
}

/** Returns a key before its first request. */
export function keyOf(client: string, key: string, action: string, token: string): Key {
  const seen = { answer: undefined, receipts: new Set<string>(), signed: new Set<string>() };
  return { client, key, action, token, ...seen, crossed: false };
}

/** Returns the token of a preview, or undefined if no process answered. */
export async function previewUntilAnswered(crowd: Crowd, action: string, email: string, by?: string) {
  const { random } = crowd;
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const answer = await crowd.call(
      `a preview for ${email}`,
      (service) => service.preview(by ?? random.pick(CLIENTS), action, fieldsOf(email)),
      2_000,
    );
    if (answer?.kind === 'previewed') return answer.record.preview_id;
    await crowd.scheduler.sleep(random.between(50, 2_000));
  }
  return undefined;
}

/** Executes several times during the faults. `executeUntilFinal` continues after the faults. */
async function executeRepeatedly(crowd: Crowd, key: Key): Promise<void> {
  const { random, scheduler } = crowd;
  const attempts = random.whole(1, 6);
  for (let attempt = 0; attempt < attempts && !crowd.isOver(); attempt += 1) {
    await executeOnce(crowd, key, random.pick([300, 3_000, 30_000]));
    if (crowd.receipts.duringFaults) await readReceipts(crowd, key);
    await scheduler.sleep(random.between(0, random.pick([50, 1_000, 8_000])));
  }
}
