/** Agents that request a confirmation page, and people who confirm once, confirm twice or decline (reference §6.11). */
import { type Crowd, executeOnce } from './asking.ts';
import { CLIENTS } from './clients.ts';
import { count } from './ledger.ts';
import { keyOf, previewUntilAnswered } from './people.ts';

/**
 * Runs one agent that requests a confirmation, and the person who answers it. Meanwhile the agent is impatient, and
 * executes under another key as well.
 */
export async function confirmByPage(crowd: Crowd, number: number): Promise<void> {
  const { random, ledger, scheduler } = crowd;
  const action = random.pick(['contact', 'homeowner_quote', 'contractor_signup']);
  // All people share a mailbox, so that a report of one confirmation request ends the other requests of the same
  // client.
  const token = await previewUntilAnswered(crowd, action, `presser+${number}@x.example`);
  if (token === undefined) return;
  const client = random.pick(CLIENTS);
  const key = keyOf(client, `press-${number}`, action, token);
  const other = keyOf(random.pick(CLIENTS), `press-${number}-other`, action, token);
  ledger.keys.push(key, other);
  const executing = [key, other].map(async (each) => {
    for (let attempt = 0; attempt < random.whole(0, 4) && !crowd.isOver(); attempt += 1) {
      await scheduler.sleep(random.between(0, 6_000));
      await executeOnce(crowd, each, random.pick([300, 3_000, 30_000]));
    }
  });
  const pending = await askUntilAnswered(crowd, client, key.key, token);
  // The client makes a further request that nobody answers.
  if (random.chance(0.3)) {
    const further = await previewUntilAnswered(crowd, 'newsletter', `presser+${number}@x.example`);
    if (further !== undefined) await askUntilAnswered(crowd, client, `${key.key}-more`, further);
  }
  const clicking = pending === undefined ? [] : [clickSome(crowd, pending)];
  await Promise.all([...executing, ...clicking]);
}

type Pending = { id: string; secret: string };

export async function askUntilAnswered(
  crowd: Crowd,
  client: string,
  key: string,
  token: string,
): Promise<Pending | undefined> {
  const { random, ledger } = crowd;
  for (let attempt = 0; attempt < 5 && !crowd.isOver(); attempt += 1) {
    const answer = await crowd.call(`${client}/${key} asks`, (service) => service.ask(client, key, token), 3_000);
    count(ledger.answers, `asking: ${answer?.kind ?? 'no answer'}`);
    if (answer?.kind === 'confirmation') {
      const { id, confirmation_url: url = '' } = answer.record;
      return { id, secret: url.split('/').at(-1) ?? '' };
    }
    await crowd.scheduler.sleep(random.between(50, 2_000));
  }
  return undefined;
}

/** Clicks some buttons, in one tab or in several at once. */
async function clickSome(crowd: Crowd, { id, secret }: Pending): Promise<void> {
  const { random, ledger, scheduler } = crowd;
  const tabs = Array.from({ length: random.pick([1, 2, 2, 3]) }, async () => {
    for (let clicks = 0; clicks < random.whole(1, 3) && !crowd.isOver(); clicks += 1) {
      await scheduler.sleep(random.pick([0, random.between(0, 3_000)]));
      const button = random.pick(['send', 'send', 'send', 'decline', 'report'] as const);
      const answer = await crowd.call(
        `${id}: ${button}`,
        (service) => service.press(id, secret, button),
        random.pick([300, 3_000, 30_000]),
      );
      count(ledger.answers, `${button}: ${answer?.kind ?? 'no answer'}`);
    }
  });
  await Promise.all(tabs);
}
