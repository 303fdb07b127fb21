/** Sends requests of agents to a process of the service, and checks the answers. */
import type { Random } from '../chaos/random.ts';
import { CONFIRMATION_STATEMENT } from '../src/actions/preview.ts';
import type { ExecuteResult } from '../src/actions/preview-token.ts';
import { count, type Key, type Ledger } from './ledger.ts';
import { seeReceipt } from './promises.ts';
import type { Scheduler } from './scheduler.ts';
import type { Service } from './service-parts.ts';

export type Crowd = {
  scheduler: Scheduler;
  ledger: Ledger;
  random: Random;
  /**
   * Sends a request to some process. `what` names the request in the trace. Returns undefined if there was no answer.
   */
  call<T>(what: string, ask: (service: Service) => Promise<T>, patienceMs: number): Promise<Called<T>>;
  isOver(): boolean;
  /**
   * Requests for signed receipts. These requests use separate random numbers, so that they change nothing else in the
   * run.
   */
  receipts: { call: Crowd['call']; duringFaults: boolean };
  /** Called before a form is sent. The call may start a fault. */
  beforeForm(): void;
};

export type Called<T> = T | { kind: 'unavailable' } | undefined;

export const ACTIONS = ['contact', 'homeowner_quote', 'contractor_signup', 'newsletter'] as const;

/** Returns the required fields of all forms. Each form ignores unknown fields. */
export function fieldsOf(email: string) {
  return { email, name: 'N', postal_code: '1', company: 'C', subject: 'S', message: 'M' };
}

/** Executes once under a key, and compares the answer with earlier answers. */
export async function executeOnce(crowd: Crowd, key: Key, patienceMs: number): Promise<void> {
  const answer = await executeAs(crowd, key, bodyOf(key.token), patienceMs);
  count(crowd.ledger.answers, answer?.kind ?? 'no answer');
  if (answer !== undefined) judge(crowd, key, answer);
}

/**
 * Executes until the answer is final, then `processes` more times. All answers must agree. Used after the faults have
 * stopped.
 */
export async function executeUntilFinal(crowd: Crowd, key: Key, processes: number): Promise<void> {
  key.answer = undefined;
  for (let attempt = 0; attempt < 20 && key.answer === undefined; attempt += 1) {
    await executeOnce(crowd, key, 5_000);
    if (key.answer === undefined) await crowd.scheduler.sleep(500);
  }
  for (let times = 0; times < processes; times += 1) await executeOnce(crowd, key, 5_000);
}

/** Sends one request to execute. Adds the answer to the ledger, which the watch compares with the stored executions. */
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
  ledger.executeAnswers.push({ client, key, action, token, at, answer: answer.kind, receiptOf });
  return answer;
}

/** Answers which mean that the person refused or has not answered yet. */
const DECIDED_BY_PERSON: ReadonlySet<string> = new Set([
  'confirmationPending',
  'confirmationDeclined',
  'clientReported',
]);

function judge({ ledger }: Crowd, key: Key, answer: ExecuteResult | { kind: 'unavailable' }): void {
  if ('receipt' in answer) {
    seeReceipt(ledger, key, answer.receipt);
    key.answer = answer.receipt.status;
  } else if (answer.kind === 'previewAlreadyUsed') key.answer = 'alreadyUsed';
  else if (key.crossed && (answer.kind === 'idempotencyConflict' || answer.kind === 'otherAction')) {
    key.answer = 'refused';
  } else if (DECIDED_BY_PERSON.has(answer.kind)) {
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
