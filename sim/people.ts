/** Agents and browsers: they preview, confirm, give up, ask again, make mistakes and race each other. */
import type { Random } from '../chaos/random.ts';
import { CONFIRMATION_STATEMENT } from '../src/actions/confirmation.ts';
import type { ExecuteResult } from '../src/actions/execute.ts';
import { count, type Key, type Ledger } from './ledger.ts';
import { seeReceipt } from './promises.ts';
import type { Scheduler } from './scheduler.ts';
import { CLIENTS, type Service } from './service.ts';

export type Crowd = {
  scheduler: Scheduler;
  ledger: Ledger;
  random: Random;
  /** Sends a request to some process; undefined: there was no answer. */
  call<T>(ask: (service: Service) => Promise<T>, patienceMs: number): Promise<Called<T>>;
  isOver(): boolean;
};

export type Called<T> = T | { kind: 'unavailable' } | undefined;

const ACTIONS = ['contact', 'homeowner_quote', 'contractor_signup', 'newsletter'] as const;

/** Everything any of the forms requires: unknown fields are ignored. */
function fieldsOf(email: string) {
  return { email, name: 'N', postal_code: '1', company: 'C', subject: 'S', message: 'M' };
}

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
  ledger.keys.push(...keys);
  // The same key from two sides: a client that gave up and asks again while the first still waits.
  const asking = keys.flatMap((key) => (random.chance(0.4) ? [key, key] : [key]));
  await Promise.all(asking.map((key) => askAgain(crowd, key)));
}

function keyOf(client: string, key: string, action: string, token: string): Key {
  return { client, key, action, token, answer: undefined, receipts: new Set(), crossed: false };
}

async function previewUntilAnswered(crowd: Crowd, action: string, email: string) {
  const { random } = crowd;
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const answer = await crowd.call(
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
    await scheduler.sleep(random.between(0, random.pick([50, 1_000, 8_000])));
  }
}

/** One execution under a key; what it answers is held against what was answered before. */
export async function askOnce(crowd: Crowd, key: Key, patienceMs: number): Promise<void> {
  const body = bodyOf(key.token);
  const answer = await crowd.call(
    (service) => service.execute(key.client, key.action, key.key, body),
    patienceMs,
  );
  const kind = answer?.kind ?? 'no answer';
  count(crowd.ledger.answers, kind);
  crowd.ledger.note(() => `${key.client}/${key.key} is told ${kind}`);
  if (answer !== undefined) judge(crowd, key, answer);
}

function judge({ ledger }: Crowd, key: Key, answer: ExecuteResult | { kind: 'unavailable' }): void {
  if ('receipt' in answer) {
    seeReceipt(ledger, key, answer.receipt);
    key.answer = answer.receipt.status;
  } else if (answer.kind === 'previewAlreadyUsed') key.answer = 'alreadyUsed';
  else if (
    key.crossed &&
    (answer.kind === 'idempotencyConflict' || answer.kind === 'otherAction')
  ) {
    key.answer = 'refused';
  } else if (answer.kind === 'expiredPreview' || answer.kind === 'invalidPreview') {
    if (key.answer === undefined) key.answer = 'refused';
  } else if (answer.kind !== 'inProgress' && answer.kind !== 'unavailable') {
    ledger.violate(0, `${key.key} was told ${answer.kind}`);
  }
}

function bodyOf(token: unknown, change: object = {}): object {
  return {
    preview_id: token,
    confirmation: true,
    confirmation_text: CONFIRMATION_STATEMENT,
    ...change,
  };
}

/** Requests that must leave no row, each under a key of its own (promise 6). */
async function makeMistakes(crowd: Crowd, number: number, action: string, token: string) {
  const other = ACTIONS.find((each) => each !== action) ?? action;
  const forged = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`;
  const mistakes: [string, string, object][] = [
    ['unknownAction', 'payment', bodyOf(token)],
    ['previewIdNotText', action, bodyOf(7)],
    ['notConfirmed', action, bodyOf(token, { confirmation: false })],
    ['notConfirmed', action, bodyOf(token, { confirmation_text: 'yes' })],
    ['invalidPreview', action, bodyOf(forged)],
    ['otherAction', other, bodyOf(token)],
  ];
  for (const [expected, onAction, body] of mistakes) {
    const key = `mistake-${number}-${expected}`;
    const answer = await crowd.call(
      (service) => service.execute('alpha', onAction, key, body),
      3_000,
    );
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
  one.crossed = true;
  await crowd.call(
    (service) => service.execute(one.client, two.action, one.key, bodyOf(two.token)),
    3_000,
  );
}

/** One lead, sent once. */
export async function sendLead(crowd: Crowd, number: number): Promise<void> {
  const body = { form: 'contact', ...fieldsOf(`lead${number}@x.example`) };
  const answer = await crowd.call((service) => service.post('lead', body), 30_000);
  count(crowd.ledger.answers, `lead ${answer?.kind ?? 'no answer'}`);
}

/** One subscription, asked for once: an accepted one is owed a message. */
export async function subscribe(crowd: Crowd, number: number): Promise<void> {
  const email = `reader${number}@x.example`;
  const body = { email, privacy: 'on' };
  const answer = await crowd.call((service) => service.post('subscription', body), 30_000);
  count(crowd.ledger.answers, `subscription ${answer?.kind ?? 'no answer'}`);
  if (answer?.kind === 'accepted') crowd.ledger.owed.add(email);
}
