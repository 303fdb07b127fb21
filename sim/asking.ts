/** How people ask a process of the service, and how what they are told is judged. */
import type { Random } from '../chaos/random.ts';
import { CONFIRMATION_STATEMENT } from '../src/actions/confirmation-statement.ts';
import type { ExecuteResult } from '../src/actions/examine-preview.ts';
import { count, type Key, type Ledger } from './ledger.ts';
import { seeReceipt } from './promises.ts';
import type { Scheduler } from './scheduler.ts';
import type { Service } from './service.ts';

export type Crowd = {
  scheduler: Scheduler;
  ledger: Ledger;
  random: Random;
  /** Sends a request, named for the trace, to some process; undefined: there was no answer. */
  call<T>(
    what: string,
    ask: (service: Service) => Promise<T>,
    patienceMs: number,
  ): Promise<Called<T>>;
  isOver(): boolean;
  /** How they ask for a signed receipt: by chance of its own, which moves nothing else. */
  receipts: { call: Crowd['call']; duringFaults: boolean };
  /** A fault may strike as a form is sent. */
  beforeForm(): void;
};

export type Called<T> = T | { kind: 'unavailable' } | undefined;

export const ACTIONS = ['contact', 'homeowner_quote', 'contractor_signup', 'newsletter'] as const;

/** Everything any of the forms requires: unknown fields are ignored. */
export function fieldsOf(email: string) {
  return { email, name: 'N', postal_code: '1', company: 'C', subject: 'S', message: 'M' };
}

/** One execution under a key; what it answers is held against what was answered before. */
export async function askOnce(crowd: Crowd, key: Key, patienceMs: number): Promise<void> {
  const answer = await executeAs(crowd, key, bodyOf(key.token), patienceMs);
  count(crowd.ledger.answers, answer?.kind ?? 'no answer');
  if (answer !== undefined) judge(crowd, key, answer);
}

/** Once the faults have stopped: to the end, and then of each of so many processes, which say the same. */
export async function askUntilFinal(crowd: Crowd, key: Key, processes: number): Promise<void> {
  key.answer = undefined;
  for (let attempt = 0; attempt < 20 && key.answer === undefined; attempt += 1) {
    await askOnce(crowd, key, 5_000);
    if (key.answer === undefined) await crowd.scheduler.sleep(500);
  }
  for (let times = 0; times < processes; times += 1) await askOnce(crowd, key, 5_000);
}

/** One request to execute; what is answered is held against what is recorded. */
export async function executeAs(
  crowd: Crowd,
  { client, key, action }: Pick<Key, 'client' | 'key' | 'action'>,
  body: { preview_id: unknown },
  patienceMs: number,
): Promise<Called<ExecuteResult>> {
  const { ledger, scheduler } = crowd;
  const at = scheduler.time();
  const answer = await crowd.call(
    `${client}/${key}`,
    (service) => service.execute(client, action, key, body),
    patienceMs,
  );
  ledger.note(() => `${client}/${key} is told ${answer?.kind ?? 'nothing'}`);
  if (answer === undefined || answer.kind === 'unavailable') return answer;
  const receiptOf = 'receipt' in answer ? answer.receipt.action_id : undefined;
  const token = body.preview_id;
  ledger.asked.push({ client, key, action, token, at, answer: answer.kind, receiptOf });
  return answer;
}

/** What the person said, or is still asked, stands in the way. */
const LEFT_TO_PERSON: ReadonlySet<string> = new Set([
  'confirmationPending',
  'confirmationDeclined',
  'clientReported',
]);

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
  } else if (LEFT_TO_PERSON.has(answer.kind)) {
    key.answer = 'refused';
  } else if (answer.kind === 'expiredPreview' || answer.kind === 'invalidPreview') {
    if (key.answer === undefined) key.answer = 'refused';
  } else if (answer.kind !== 'inProgress' && answer.kind !== 'unavailable') {
    ledger.violate(0, `${key.key} was told ${answer.kind}`);
  }
}

export function bodyOf(token: unknown, change: object = {}) {
  return {
    preview_id: token,
    confirmation: true,
    confirmation_text: CONFIRMATION_STATEMENT,
    ...change,
  };
}
