/**
 * Subscribers who have received their message. Subscribers confirm, and some confirm twice at once. Some subscribers
 * unsubscribe (reference §9).
 */
import type { Crowd } from './asking.ts';
import { count } from './ledger.ts';
import type { Store } from './store.ts';

type Links = { confirm_token: string; leave_token: string };

/** Acts as the reader of the message that was sent to `email`: clicks its links. Some readers click nothing. */
export async function readMail(crowd: Crowd, store: Store, email: string): Promise<void> {
  const { random, scheduler, ledger } = crowd;
  if (!random.chance(0.7)) return;
  await scheduler.sleep(random.between(0, 20_000));
  const sql = 'select confirm_token, leave_token from subscribers where email = ?';
  const [links] = store.read<Links>(sql, email) ?? [];
  if (links === undefined) return;
  const plan = random.pick<('confirm' | 'leave')[]>([
    ['confirm'],
    ['confirm', 'leave'],
    ['leave'],
    ['leave', 'confirm'],
    ['confirm', 'confirm'],
  ]);
  for (const link of plan) {
    if (crowd.isOver()) return;
    const token = link === 'confirm' ? links.confirm_token : links.leave_token;
    ledger.clicked.add(token);
    const presses = Array.from({ length: random.pick([1, 1, 2, 3]) }, async () => {
      const answer = await crowd.call(
        `${link} by ${email}`,
        async ({ subscriptionLinks }) => {
          await subscriptionLinks[link === 'leave' ? 'unsubscribe' : link](token);
          return { kind: 'pressed' as const };
        },
        random.pick([300, 30_000]),
      );
      count(ledger.answers, `${link} ${answer?.kind ?? 'no answer'}`);
    });
    await Promise.all(presses);
    await scheduler.sleep(random.between(0, 10_000));
  }
}
