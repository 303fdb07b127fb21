/** People who send a form, or are erased; what they are told is held against what became of it. */

import { eraseOutboxOf } from '../src/mail/erasure.ts';
import { eraseInboxOf } from '../src/upstream/inbox-erasure.ts';
import { type Crowd, fieldsOf } from './asking.ts';
import { count, mailboxOf } from './ledger.ts';

/** One lead, sent once. */
export async function sendLead(crowd: Crowd, number: number): Promise<void> {
  const mark = `lead${number}@x.example`;
  const form = crowd.random.pick(['contact', 'homeowner_quote', 'contractor_signup', 'newsletter']);
  await send(crowd, 'lead', mark, { form, ...fieldsOf(mark) });
}

/** One subscription: mailboxes are asked for again, under tags and without. */
export async function subscribe(crowd: Crowd, number: number): Promise<void> {
  const { random } = crowd;
  const tag = random.pick(['', '', '+news', '+spam']);
  const email = `reader${random.whole(1, 9)}${tag}@x.example`;
  const mark = `visit-${number}`;
  await send(crowd, 'subscription', mark, { email, privacy: 'on', contractor: mark });
}

/** `npm run erase` for one of those who may have come. */
export async function eraseSomebody({ ledger, random, call }: Crowd): Promise<void> {
  const email = random.pick(['agent1@x.example', 'lead1@x.example', 'reader1@x.example']);
  ledger.erased.add(email);
  await call(
    `erasure of ${email}`,
    ({ storage }) =>
      storage.write(async (tx) => {
        await eraseInboxOf(tx, email);
        await eraseOutboxOf(tx, email);
        return { kind: 'erased' as const };
      }),
    5_000,
  );
}

async function send(
  { ledger, scheduler, call }: Crowd,
  form: 'lead' | 'subscription',
  mark: string,
  body: { email: string } & Record<string, string>,
): Promise<void> {
  const at = scheduler.time();
  const answer = await call(mark, (service) => service.post(form, body), 30_000);
  const kind = answer?.kind ?? 'no answer';
  count(ledger.answers, `${form} ${kind}`);
  ledger.note(() => `${mark} (${body.email}) is told ${kind}`);
  if (kind !== 'accepted' && kind !== 'unconfirmed' && kind !== 'unsent') return;
  const subscribed = form === 'subscription';
  ledger.told.push({ mark, answer: kind, subscribed, at });
  const outcome = ledger.learned.get(mark)?.outcome;
  const isNew = outcome?.kind === 'confirmed' && !outcome.known;
  if (subscribed && kind === 'accepted' && isNew) {
    ledger.owed.push({ mailbox: mailboxOf(body.email), by: undefined });
  }
}
