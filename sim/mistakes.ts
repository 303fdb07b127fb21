/**
 * Agents that make mistakes. The service sends nothing for these agents, and answers in the order of reference §5.7.
 */
import { ACTIONS, bodyOf, type Crowd, executeAs } from './asking.ts';

/** Sends requests that must write no row, each under a separate key (invariant 6). */
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
    // The token itself may be invalid or expired by the clock and the keys of the process that answers.
    if ([expected, 'invalidPreview', 'expiredPreview'].includes(answer.kind)) continue;
    crowd.ledger.violate(6, `${expected} was answered ${answer.kind}`);
  }
}

/**
 * Executes a key with the preview of another key. The answer is a conflict or the first receipt, and nothing is sent
 * twice.
 */
export async function crossKeys(crowd: Crowd): Promise<void> {
  const { ledger, random } = crowd;
  if (ledger.keys.length < 2) return;
  const [one, two] = [random.pick(ledger.keys), random.pick(ledger.keys)];
  if (one.token === two.token) return;
  // Neither request uses up the key or the preview. The service checks the confirmation before the key, and the key
  // before the token (reference §5.7).
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

/** Returns the token with another last character in its signature. */
function forged(token: string): string {
  return `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`;
}
