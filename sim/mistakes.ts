/** Agents that do it wrong: nothing is sent for it, and they are told what the contract's order says. */
import { ACTIONS, bodyOf, type Crowd, executeAs } from './asking.ts';

/** Requests that must leave no row, each under a key of its own (promise 6). */
export async function makeMistakes(crowd: Crowd, number: number, action: string, token: string) {
  const other = ACTIONS.find((each) => each !== action) ?? action;
  const mistakes: [string, string, ReturnType<typeof bodyOf>][] = [
    ['unknownAction', 'payment', bodyOf(token)],
    ['previewIdNotText', action, bodyOf(7)],
    ['notConfirmed', action, bodyOf(token, { confirmation: false })],
    ['notConfirmed', action, bodyOf(token, { confirmation_text: 'yes' })],
    ['invalidPreview', action, bodyOf(forged(token))],
    ['otherAction', other, bodyOf(token)],
  ];
  for (const [expected, onAction, body] of mistakes) {
    const as = { client: 'alpha', key: `mistake-${number}-${expected}`, action: onAction };
    const answer = await executeAs(crowd, as, body, 3_000);
    if (answer === undefined || answer.kind === 'unavailable') continue;
    // By the clock and the keys of the process that is asked, the token itself may be no good either.
    if ([expected, 'invalidPreview', 'expiredPreview'].includes(answer.kind)) continue;
    crowd.ledger.violate(6, `${expected} was answered ${answer.kind}`);
  }
}

/** A key with the preview of another: a conflict, or the receipt of the first, never a second send. */
export async function crossKeys(crowd: Crowd): Promise<void> {
  const { ledger, random } = crowd;
  if (ledger.keys.length < 2) return;
  const [one, two] = [random.pick(ledger.keys), random.pick(ledger.keys)];
  if (one.token === two.token) return;
  // Neither of these is looked at before the key: they are told what it says, and consume nothing.
  if (random.chance(0.5)) {
    await executeAs(crowd, one, bodyOf(forged(two.token)), 3_000);
    const answer = await executeAs(crowd, one, bodyOf(two.token, { confirmation: false }), 3_000);
    if (answer !== undefined && answer.kind !== 'unavailable' && answer.kind !== 'notConfirmed') {
      ledger.violate(11, `${one.key} without a confirmation was told ${answer.kind}`);
    }
  }
  one.crossed = true;
  await executeAs(crowd, { ...one, action: two.action }, bodyOf(two.token), 3_000);
}

/** The token with the last character of its signature changed. */
function forged(token: string): string {
  return `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`;
}
