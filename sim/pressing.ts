/** Agents that have a person asked on their own page, and people who press: once, twice, or to say no (beyond §4). */
import { askOnce, type Crowd } from './asking.ts';
import { CLIENTS } from './clients.ts';
import { count } from './ledger.ts';
import { keyOf, previewUntilAnswered } from './people.ts';

/** One agent that asks, and its person; meanwhile the agent is impatient, and tries another key as well. */
export async function confirmByPage(crowd: Crowd, number: number): Promise<void> {
  const { random, ledger, scheduler } = crowd;
  const action = random.pick(['contact', 'homeowner_quote', 'contractor_signup']);
  const token = await previewUntilAnswered(crowd, action, `presser${number}@x.example`);
  if (token === undefined) return;
  const client = random.pick(CLIENTS);
  const key = keyOf(client, `press-${number}`, action, token);
  const other = keyOf(random.pick(CLIENTS), `press-${number}-other`, action, token);
  ledger.keys.push(key, other);
  const executing = [key, other].map(async (each) => {
    for (let attempt = 0; attempt < random.whole(0, 4) && !crowd.isOver(); attempt += 1) {
      await scheduler.sleep(random.between(0, 6_000));
      await askOnce(crowd, each, random.pick([300, 3_000, 30_000]));
    }
  });
  const asked = await askUntilAnswered(crowd, client, key.key, token);
  const pressing = asked === undefined ? [] : [pressSome(crowd, asked)];
  await Promise.all([...executing, ...pressing]);
}

type AskedOf = { id: string; secret: string };

async function askUntilAnswered(
  crowd: Crowd,
  client: string,
  key: string,
  token: string,
): Promise<AskedOf | undefined> {
  const { random, ledger } = crowd;
  for (let attempt = 0; attempt < 5 && !crowd.isOver(); attempt += 1) {
    const answer = await crowd.call(
      `${client}/${key} asks`,
      (service) => service.ask(client, key, token),
      3_000,
    );
    count(ledger.answers, `asking: ${answer?.kind ?? 'no answer'}`);
    if (answer?.kind === 'confirmation') {
      const { id, confirmation_url: url = '' } = answer.record;
      return { id, secret: url.split('/').at(-1) ?? '' };
    }
    await crowd.scheduler.sleep(random.between(50, 2_000));
  }
  return undefined;
}

/** Some buttons, in one tab or in two at once. */
async function pressSome(crowd: Crowd, { id, secret }: AskedOf): Promise<void> {
  const { random, ledger, scheduler } = crowd;
  const tabs = Array.from({ length: random.pick([1, 2, 2, 3]) }, async () => {
    for (let presses = 0; presses < random.whole(1, 3) && !crowd.isOver(); presses += 1) {
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
