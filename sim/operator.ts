/** Acts as the operator: resends submissions, dismisses them and erases a person, as the commands do. */
import { erasePerson } from '../src/confirmations/person.ts';
import { dismiss, requestResend } from '../src/submissions/operator-changes.ts';
import type { Crowd } from './asking.ts';
import type { WatchedRows } from './kept-rows.ts';

/**
 * Requests a resend of up to three submissions of browsers. Submissions without content, and submissions that were sent
 * unstored, stay as they are.
 */
export async function resendSome(crowd: Crowd, rows: WatchedRows): Promise<void> {
  const { ledger, random, call } = crowd;
  const all = [...rows.all()].filter(({ origin, stored_here: here }) => origin === 'browser' && here === 0);
  ledger.isTouched = true;
  for (let number = 0; number < 3 && all.length > 0; number += 1) {
    const { id } = random.pick(all);
    await call(`resend ${id}`, ({ storage }) => storage.write((tx) => requestResend(storage, tx, id)), 5_000);
  }
}

/** Dismisses one submission that waits or is undelivered. The submission may belong to an execution. */
export async function dismissOne(crowd: Crowd, rows: WatchedRows): Promise<void> {
  const { ledger, random, call } = crowd;
  const open = [...rows.all()].filter(({ status }) => status === 'waiting' || status === 'undelivered');
  if (open.length === 0) return;
  ledger.isTouched = true;
  const { id } = random.pick(open);
  await call(
    `dismiss ${id}`,
    ({ storage }) => storage.write((tx) => dismiss(storage, tx, id, { reason: 'other', keepsContent: true })),
    5_000,
  );
}

/** Erases one of the people who may have sent something, as `npm run erase` does. */
export async function eraseSomebody({ ledger, random, call }: Crowd): Promise<void> {
  const email = random.pick(['agent1@x.example', 'lead1@x.example', 'reader1@x.example']);
  ledger.erased.add(email);
  await call(
    `erasure of ${email}`,
    async ({ storage, process }) => {
      await storage.write((tx) => erasePerson(tx, email, process.clock.now()));
      return { kind: 'erased' as const };
    },
    5_000,
  );
}
