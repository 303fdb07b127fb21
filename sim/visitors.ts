/** People who send a form, and send it again if the answer is a failure. */

import type { FormResult } from '../src/intake/leads.ts';
import type { Called, Crowd } from './asking.ts';
import { fieldsOf } from './asking.ts';
import { count } from './ledger.ts';
import type { SimulatedProcess } from './process.ts';
import { readMail } from './readers.ts';
import type { Store } from './store.ts';

type Sent = { form: 'lead' | 'subscription'; mark: string; body: { email: string } };

export async function sendLead(crowd: Crowd, number: number): Promise<void> {
  const mark = `lead${number}@x.example`;
  const form = crowd.random.pick(['contact', 'homeowner_quote', 'contractor_signup', 'newsletter']);
  await sendUntilTired(crowd, {
    form: 'lead',
    mark,
    body: { form, ...fieldsOf(mark) } as Sent['body'],
  });
}

/** Subscribes one mailbox. Mailboxes repeat, with tags and without. */
export async function subscribe(crowd: Crowd, store: Store, number: number): Promise<void> {
  const { random } = crowd;
  const tag = random.pick(['', '', '+news', '+spam']);
  const email = `reader${random.whole(1, 9)}${tag}@x.example`;
  const mark = `visit-${number}`;
  const body = { email, privacy: 'on', contractor: mark };
  await sendUntilTired(crowd, { form: 'subscription', mark, body });
  await readMail(crowd, store, email);
}

/**
 * Sends a form, and resends it at once or later if the answer is a failure. After no answer, some people resend too.
 */
async function sendUntilTired(crowd: Crowd, sent: Sent): Promise<void> {
  const { random, scheduler, ledger } = crowd;
  ledger.addresses.set(sent.mark, sent.body.email);
  const times = random.pick([1, 2, 2, 3, 5]);
  for (let time = 0; time < times && !crowd.isOver(); time += 1) {
    const answer = await send(crowd, sent);
    if (answer?.kind === 'accepted') return;
    // It is unknown when a request without an answer ends.
    if (answer === undefined && random.chance(0.7)) return;
    await scheduler.sleep(random.pick([random.between(0, 3_000), random.between(3_000, 15_000)]));
  }
}

export async function send(crowd: Crowd, { form, mark, body }: Sent): Promise<Called<FormResult>> {
  const { ledger, scheduler, call, random } = crowd;
  const at = scheduler.time();
  const isFirst = !ledger.requestedAt.has(mark);
  // If another request is unanswered, it may still store the same form. The time counts only for a request that runs
  // alone.
  ledger.requestedAt.set(mark, ledger.unanswered.has(mark) ? Number.NEGATIVE_INFINITY : at);
  ledger.unsent.delete(mark);
  crowd.beforeForm();
  let process: SimulatedProcess | undefined;
  const answer = await call(
    mark,
    (service) => {
      process = service.process;
      return service.post(form, body);
    },
    random.pick([3_000, 30_000]),
  );
  const kind = answer?.kind ?? 'no answer';
  count(ledger.answers, `${form} ${kind}`);
  if (answer === undefined) ledger.unanswered.add(mark);
  if (answer === undefined || answer.kind === 'unavailable') return answer;
  const reference = 'reference' in answer ? answer.reference : undefined;
  ledger.note(() => `${mark} (${body.email}) is told ${kind} ${reference ?? ''}`);
  if (!isFormAnswer(answer.kind)) return answer;
  // With two equal requests at once, the answer may be true only for the other request.
  if (ledger.unanswered.has(mark)) return answer;
  const subscribed = form === 'subscription';
  const answeredAt = scheduler.time();
  const reachedAt = process?.reachedAt() ?? 0;
  const given = { mark, answer: answer.kind, subscribed, at, answeredAt, reachedAt, reference, isFirst };
  ledger.formAnswers.push(given);
  return answer;
}

const FORM_ANSWERS = ['accepted', 'kept', 'left', 'unconfirmed', 'unsent'] as const;
type FormAnswerKind = (typeof FORM_ANSWERS)[number];

function isFormAnswer(kind: string): kind is FormAnswerKind {
  return FORM_ANSWERS.includes(kind as FormAnswerKind);
}
