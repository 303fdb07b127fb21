/** A sandbox client, whose tests run beside real traffic and under the same faults: invariant 14 (reference §27). */
import type { Random } from '../chaos/random.ts';
import { CONFIRMATION_STATEMENT } from '../src/actions/preview.ts';
import { SANDBOX_TIMEOUT_MS } from '../src/sandbox/upstream.ts';
import { LEASE_MARGIN_MS } from '../src/submissions/lead-store.ts';
import { type Crowd, executeOnce } from './asking.ts';
import { CLIENTS, TESTER } from './clients.ts';
import { keyOf, previewUntilAnswered } from './people.ts';
import type { Store } from './store.ts';

export const SANDBOX_LEASE_MS = SANDBOX_TIMEOUT_MS + LEASE_MARGIN_MS;

/** Fraction of the runs in which a sandbox client takes part. */
const WITH_TESTS = 0.2;

/** Draws the tests of a run. They have separate random numbers, so that they change nothing in other runs. */
export function drawTests(random: Random): { chosen: boolean; numbers: number[]; random: Random } {
  const chosen = random.chance(WITH_TESTS);
  return { chosen, numbers: chosen ? [1, 2, 3] : [], random };
}

/** Tags of the addresses. An execution without a tag is submitted. */
const TAGS = ['', '+rejected', '+limited', '+unconfirmed', '+slow'];

/** Runs a test: a preview, then its executions, or a confirmation that is answered automatically. */
export async function testInSandbox(crowd: Crowd, number: number): Promise<void> {
  const { random, ledger, scheduler } = crowd;
  await scheduler.sleep(random.between(0, 20_000));
  const pressed = random.pick(['', '', '+presses', '+declines']);
  const email = `test${number}${pressed}${random.pick(TAGS)}@example.com`;
  const token = await previewUntilAnswered(crowd, 'contact', email, TESTER);
  if (token === undefined) return;
  const key = keyOf(TESTER, `test-${number}`, 'contact', token);
  ledger.keys.push(key);
  if (pressed !== '') {
    await crowd.call(`${key.key} asks`, (service) => service.ask(TESTER, key.key, token), 3_000);
    await scheduler.sleep(random.between(0, 8_000));
  }
  for (let attempt = 0; attempt < random.whole(1, 4) && !crowd.isOver(); attempt += 1) {
    await executeOnce(crowd, key, random.pick([300, 3_000, 30_000]));
    await scheduler.sleep(random.between(0, 3_000));
  }
  await mixUp(crowd, token, email);
}

/** Uses each kind's preview with the other kind's client. Both must be refused with 400. */
async function mixUp(crowd: Crowd, test: string, email: string): Promise<void> {
  const [real] = CLIENTS;
  const own = await previewUntilAnswered(crowd, 'contact', `real-${email.replace('example.com', 'x.example')}`, real);
  for (const [client, token] of [
    [real, test],
    [TESTER, own],
  ]) {
    if (client === undefined || token === undefined) continue;
    const body = { preview_id: token, confirmation: true, confirmation_text: CONFIRMATION_STATEMENT };
    const answer = await crowd.call(
      `${client} mixes up`,
      (service) => service.execute(client, 'contact', `mix-${test.slice(-8)}`, body),
      3_000,
    );
    if (answer === undefined || answer.kind === 'unavailable' || answer.kind === 'invalidPreview') continue;
    crowd.ledger.violate(14, `${client} was told ${answer.kind} for a preview of the other kind`);
  }
}

/** Checks invariant 14: no list of the console has a test, and no message is about one. */
export async function checkUnlisted({ ledger, call, scheduler }: Crowd, store: Store): Promise<void> {
  const tests = store.read<{ id: string }>('select action_id id from executions where sandbox = 1') ?? [];
  const about = store.read<{ key: string }>('select key from messages union select about from messages') ?? [];
  for (const { key } of about) {
    if (tests.some(({ id }) => id === key)) ledger.violate(14, `a message is about ${key} of a sandbox client`);
  }
  for (let times = 0; times < 5; times += 1) {
    const answer = await call('the lists of the console', ({ desk }) => desk.lists(), 5_000);
    if (answer?.kind === 'lists') {
      const text = JSON.stringify(answer.rows);
      const listed = [`"${TESTER}"`, '@example.com', ...tests.map(({ id }) => id)].find((name) => text.includes(name));
      if (listed !== undefined) ledger.violate(14, `a list of the console has ${listed} of a sandbox client`);
      return;
    }
    await scheduler.sleep(1_000);
  }
}
