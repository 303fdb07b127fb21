/** Agents: they preview, confirm, give up, ask again, and race each other. */
import { ACTIONS, askOnce, type Crowd, fieldsOf } from './asking.ts';
import { CLIENTS } from './clients.ts';
import type { Key } from './ledger.ts';
import { makeMistakes } from './mistakes.ts';
import { readReceipts } from './receipts.ts';

/** One agent: a preview, then its execution under one key or several, by one client or two. */
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
  // A key belongs to its client: the other may have the same.
  if (random.chance(0.25)) {
    const client = keys[0]?.client === 'alpha' ? 'beta' : 'alpha';
    keys.push(keyOf(client, `key-${number}-0`, action, token));
  }
  ledger.keys.push(...keys);
  // The same key from two sides: a client that gave up and asks again while the first still waits.
  const asking = keys.flatMap((key) => (random.chance(0.4) ? [key, key] : [key]));
  await Promise.all(asking.map((key) => askAgain(crowd, key)));
}

/** A key as it is before anything was asked under it. */
export function keyOf(client: string, key: string, action: string, token: string): Key {
  const seen = { answer: undefined, receipts: new Set<string>(), signed: new Set<string>() };
  return { client, key, action, token, ...seen, crossed: false };
}

/** The token of a preview; undefined where nobody answered. */
export async function previewUntilAnswered(crowd: Crowd, action: string, email: string) {
  const { random } = crowd;
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const answer = await crowd.call(
      `a preview for ${email}`,
      (service) => service.preview(random.pick(CLIENTS), action, fieldsOf(email)),
      2_000,
    );
    if (answer?.kind === 'previewed') return answer.record.preview_id;
    await crowd.scheduler.sleep(random.between(50, 2_000));
  }
  return undefined;
}

/** Asks some times during the faults; whoever gives up is asked to the end afterwards. */
async function askAgain(crowd: Crowd, key: Key): Promise<void> {
  const { random, scheduler } = crowd;
  const attempts = random.whole(1, 6);
  for (let attempt = 0; attempt < attempts && !crowd.isOver(); attempt += 1) {
    await askOnce(crowd, key, random.pick([300, 3_000, 30_000]));
    if (crowd.receipts.duringFaults) await readReceipts(crowd, key);
    await scheduler.sleep(random.between(0, random.pick([50, 1_000, 8_000])));
  }
}
