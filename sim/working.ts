/**
 * Operators who sign in with a link, printed or mailed, and work on leads: progress, notes, bulk changes and undo. Some
 * click twice, or use an old link or button (reference §12.14, §12.16).
 */
import { digestOfToken } from '../src/console/links.ts';
import { progresses } from '../src/submissions/read/filter.ts';
import type { Crowd } from './asking.ts';
import type { Button } from './console.ts';
import type { WatchedRows } from './kept-rows.ts';
import { count, type Ledger } from './ledger.ts';
import type { Store } from './store.ts';

/** A link. `source` is its e-mail or its printed name, whose links sign in once altogether. */
export type SignInLink = { source: string; token: string };

export type Office = { crowd: Crowd; store: Store; rows: WatchedRows };

/** Runs an operator with a printed link. */
export async function usePrintedLink(office: Office, number: number): Promise<void> {
  const { crowd } = office;
  await crowd.scheduler.sleep(crowd.random.between(0, 20_000));
  const source = `Operator ${number}`;
  const printed = await crowd.call(`a link for ${source}`, ({ desk }) => desk.printLink(source), 5_000);
  if (printed?.kind === 'printed') await useLink(office, { source, token: printed.token });
}

/** Requests mails with a link. The mail server calls `useLink` when such a mail has arrived. */
export async function requestLinks({ crowd }: Office): Promise<void> {
  const { random, scheduler, ledger } = crowd;
  for (let times = random.whole(1, 3); times > 0 && !crowd.isOver(); times -= 1) {
    await scheduler.sleep(random.between(0, 15_000));
    const answer = await crowd.call('a mailed link', ({ desk }) => desk.requestLink('/operator/leads'), 5_000);
    count(ledger.answers, `link: ${answer?.kind ?? 'no answer'}`);
  }
}

/** Clicks the button of a link up to three times, also at once, then works in each session. Checks invariant 15. */
export async function useLink(office: Office, { source, token }: SignInLink): Promise<void> {
  const { random, scheduler, ledger, call } = office.crowd;
  ledger.linksUsed.add(source);
  const clicks = Array.from({ length: random.pick([1, 2, 2, 3]) }, async () => {
    await scheduler.sleep(random.pick([0, random.between(0, 4_000), random.between(0, 80_000)]));
    const answer = await call(`${source} signs in`, ({ desk }) => desk.signIn(token), random.pick([300, 30_000]));
    count(ledger.answers, `sign-in: ${answer?.kind ?? 'no answer'}`);
    if (answer?.kind !== 'signedIn') return;
    if (count(ledger.signIns, source) > 1) ledger.violate(15, `${source} signed in twice`);
    await workOff(office, answer.cookie);
  });
  await Promise.all(clicks);
}

/** Uses some buttons, each once or twice at the same time. */
async function workOff(office: Office, cookie: string): Promise<void> {
  const { crowd } = office;
  const { random, scheduler, ledger } = crowd;
  for (let times = random.whole(2, 7); times > 0 && !crowd.isOver(); times -= 1) {
    await scheduler.sleep(random.pick([0, random.between(0, 1_000), random.between(0, 4_000)]));
    const [button, form, id] = drawButton(office, cookie);
    if (form.some(([, value]) => value === 'spam' || value === 'resend')) ledger.isTouched = true;
    const clicks = Array.from({ length: random.pick([1, 1, 2]) }, async () => {
      const what = `${button} ${form.map((pair) => pair.join('=')).join(' ')}`;
      const answer = await crowd.call(what, ({ desk }) => desk.press(cookie, button, form, id), 5_000);
      count(ledger.answers, `${button}: ${answer?.kind ?? 'no answer'}`);
    });
    await Promise.all(clicks);
  }
}

type Pressed = [button: Button, form: [name: string, value: string][], id?: string];

const UNKNOWN_ID = '99999999-0000-4000-8000-000000000000';

function drawButton({ crowd: { random }, store, rows }: Office, cookie: string): Pressed {
  const all = [...rows.all()].map(({ id }) => id);
  // Operators often work on the same leads.
  const ids = random.chance(0.6) ? all.slice(0, 2) : all;
  const id = ids.length === 0 ? UNKNOWN_ID : random.pick(ids);
  const progress = random.pick([...progresses, 'spam']);
  const undo = undoOf(store, cookie);
  switch (undo === undefined ? random.pick(['progress', 'bulk', 'note']) : random.pick(['undo', 'undo', 'bulk'])) {
    case 'progress':
      return ['progress', [['progress', progress]], id];
    case 'bulk': {
      const some = Array.from({ length: random.whole(1, 4) }, () => random.pick([...ids, UNKNOWN_ID]));
      const given = some.map((each): [string, string] => ['id', each]);
      return ['bulk', [['do', random.pick([progress, progress, 'resend'])], ...given]];
    }
    case 'note':
      return ['note', [['note', random.pick(['Called back.', ''])]], id];
    default:
      // Some buttons are from an older page.
      return ['undo', [['change', random.chance(0.9) ? (undo ?? UNKNOWN_ID) : UNKNOWN_ID]]];
  }
}

/** Returns the key of the change that the session can undo. */
function undoOf(store: Store, cookie: string): string | undefined {
  const sql = 'select undo from operator_sessions where digest = ?';
  const [session] = store.read<{ undo: string | null }>(sql, digestOfToken(cookie) ?? '') ?? [];
  return session?.undo ? (JSON.parse(session.undo) as { key: string }).key : undefined;
}

/** Checks invariant 15 in the store: the audit has at most one sign-in for each e-mail and each printed name. */
export function checkSignIns(store: Store, ledger: Ledger): void {
  const sql = "select name, count(*) times from operator_audit where what = 'signed_in' group by name";
  for (const { name, times } of store.read<{ name: string; times: number }>(sql) ?? []) {
    const links = name.startsWith('Operator') ? 1 : [...ledger.linksUsed].filter((link) => link.startsWith('<')).length;
    if (times > links) ledger.violate(15, `${name} signed in ${times} times with ${links} links`);
  }
}
