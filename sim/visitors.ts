/** People who send a form, and send it again where that was in vain. */

import type { FormResult } from '../src/intake/leads.ts';
import type { Called, Crowd } from './asking.ts';
import { fieldsOf } from './asking.ts';
import { count } from './ledger.ts';
import type { SimulatedProcess } from './process.ts';
import { readMail } from './readers.ts';
import type { Store } from './store.ts';

type Sent = { form: 'lead' | 'subscription'; mark: string; body: { email: string } };

/** One lead. */
export async function sendLead(crowd: Crowd, number: number): Promise<void> {
  const mark = `lead${number}@x.example`;
  const form = crowd.random.pick(['contact', 'homeowner_quote', 'contractor_signup', 'newsletter']);
  await sendUntilTired(crowd, {
    form: 'lead',
    mark,
    body: { form, ...fieldsOf(mark) } as Sent['body'],
  });
}

/** One subscription: mailboxes are asked for again, under tags and without. */
export async function subscribe(crowd: Crowd, store: Store, number: number): Promise<void> {
  const { random } = crowd;
  const tag = random.pick(['', '', '+news', '+spam']);
  const email = `reader${random.whole(1, 9)}${tag}@x.example`;
  const mark = `visit-${number}`;
  const body = { email, privacy: 'on', contractor: mark };
  await sendUntilTired(crowd, { form: 'subscription', mark, body });
  await readMail(crowd, store, email);
}

/** Whoever reads that it did not arrive sends it again, at once or later; whoever hears nothing may, too. */
async function sendUntilTired(crowd: Crowd, sent: Sent): Promise<void> {
  const { random, scheduler, ledger } = crowd;
  ledger.addresses.set(sent.mark, sent.body.email);
  const times = random.pick([1, 2, 2, 3, 5]);
  for (let time = 0; time < times && !crowd.isOver(); time += 1) {
    const answer = await send(crowd, sent);
    if (answer?.kind === 'accepted') return;
    // Of a request that got no answer it is not known when it ends.
    if (answer === undefined && random.chance(0.7)) return;
    await scheduler.sleep(random.pick([random.between(0, 3_000), random.between(3_000, 15_000)]));
  }
}

async function send(crowd: Crowd, { form, mark, body }: Sent): Promise<Called<FormResult>> {
  const { ledger, scheduler, call, random } = crowd;
  const at = scheduler.time();
  const isFirst = !ledger.askedAt.has(mark);
  // Only of the one that asks alone it is known that nobody else keeps the same.
  ledger.askedAt.set(mark, ledger.unanswered.has(mark) ? Number.NEGATIVE_INFINITY : at);
  ledger.unsent.delete(mark);
  crowd.beforeForm();
  let asked: SimulatedProcess | undefined;
  const answer = await call(
    mark,
    (service) => {
      asked = service.process;
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
  if (!isTold(answer.kind)) return answer;
  // Two of the same at once: what one is told may be true of the other.
  if (ledger.unanswered.has(mark)) return answer;
  const subscribed = form === 'subscription';
  const toldAt = scheduler.time();
  const reachedAt = asked?.reachedAt() ?? 0;
  const told = { mark, answer: answer.kind, subscribed, at, toldAt, reachedAt, reference, isFirst };
  ledger.told.push(told);
  return answer;
}

const TOLD = ['accepted', 'kept', 'left', 'unconfirmed', 'unsent'] as const;
type ToldKind = (typeof TOLD)[number];

function isTold(kind: string): kind is ToldKind {
  return TOLD.includes(kind as ToldKind);
}
