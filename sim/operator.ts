/** The operator: has rows sent again, dismisses them, and erases a person, as the commands do. */
import { eraseOutboxOf } from '../src/mail/erasure.ts';
import { eraseSubscriberOf } from '../src/newsletter/erasure.ts';
import { eraseSubmissionsOf } from '../src/submissions/erasure.ts';
import { askForResend, dismiss } from '../src/submissions/operator-changes.ts';
import type { Crowd } from './asking.ts';
import type { KeptRows } from './kept-rows.ts';

/** Marks up to three browsers' rows due; what has content, and was not sent unkept. */
export async function resendSome(crowd: Crowd, rows: KeptRows): Promise<void> {
  const { ledger, random, call } = crowd;
  const all = [...rows.all()].filter(
    ({ origin, stored_here: here }) => origin === 'browser' && here === 0,
  );
  ledger.isTouched = true;
  for (let number = 0; number < 3 && all.length > 0; number += 1) {
    const { id } = random.pick(all);
    await call(`resend ${id}`, ({ storage }) => askForResend(storage, id), 5_000);
  }
}

/** Dismisses one that waits or that nothing more happens to, an execution's too. */
export async function dismissOne(crowd: Crowd, rows: KeptRows): Promise<void> {
  const { ledger, random, call } = crowd;
  const open = [...rows.all()].filter(
    ({ status }) => status === 'waiting' || status === 'undelivered',
  );
  if (open.length === 0) return;
  ledger.isTouched = true;
  const { id } = random.pick(open);
  await call(
    `dismiss ${id}`,
    ({ storage }) => dismiss(storage, id, 'other', { keepsContent: true }),
    5_000,
  );
}

/** `npm run erase` for one of those who may have come. */
export async function eraseSomebody({ ledger, random, call }: Crowd): Promise<void> {
  const email = random.pick(['agent1@x.example', 'lead1@x.example', 'reader1@x.example']);
  ledger.erased.add(email);
  await call(
    `erasure of ${email}`,
    ({ storage }) =>
      storage.write(async (tx) => {
        await eraseSubscriberOf(tx, email);
        await eraseSubmissionsOf(tx, email);
        await eraseOutboxOf(tx, email);
        return { kind: 'erased' as const };
      }),
    5_000,
  );
}
