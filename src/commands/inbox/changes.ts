/** `npm run inbox -- resend` and `dismiss` (beyond §1, "The operator"): one line for each id. */
import { systemClock } from '../../clock.ts';
import type { Storage } from '../../storage/database.ts';
import type { AttemptOutcome } from '../../submissions/attempts.ts';
import {
  type Asked,
  askForResend,
  dismiss,
  dismissalReasons,
  type Refused,
  undeliveredIds,
} from '../../submissions/operator-changes.ts';
import { type Resent, resent } from '../../submissions/resend.ts';
import type { Call } from '../command.ts';
import { ExitFault, UsageFault } from '../faults.ts';
import type { Terminal } from '../terminal.ts';
import { oneOf } from './filters.ts';
import { withSubmissions } from './store.ts';

const REFUSED: Readonly<Record<Refused, string>> = {
  unknown: 'there is nothing with that id; `list` shows them',
  agent: 'an agent’s is never sent again: the agent was told to ask the person anew',
  dismissed: 'it was dismissed',
  delivered: 'it was delivered',
  underWay: 'it is under way; try again when that has ended',
  contentGone: 'what was written in it is gone',
  sentUnkept: 'it was sent while the database was away, and is never sent a second time',
};

const ATTEMPTED: Readonly<Record<AttemptOutcome, string>> = {
  confirmed: 'confirmed',
  rejected: 'rejected',
  rateLimited: 'not confirmed: the upstream asks to wait',
  unconfirmed: 'not confirmed',
  unknown: 'not known: its attempt was broken off',
};

/** Marks rows due, and waits for what the running service makes of them. */
export async function resend(call: Call): Promise<void> {
  const { terminal } = call;
  const ids = idsOf(call);
  const all = call.flag('undelivered');
  if (all === ids.length > 0) throw new UsageFault('Give ids, or --undelivered; see --help.');
  const refused = await withSubmissions(call, async (storage) => {
    const { asked, refused } = await ask(
      storage,
      terminal,
      all ? await undeliveredIds(storage) : ids,
    );
    if (asked.length > 0) terminal.say(MAY_HAVE_ARRIVED);
    let unconfirmed = refused;
    for await (const one of resent(storage, systemClock, asked)) {
      if (!isConfirmed(one)) unconfirmed += 1;
      reportResent(terminal, one);
    }
    if (asked.length + refused === 0) terminal.say('There is nothing to send again.');
    return unconfirmed;
  });
  if (refused > 0) throw new ExitFault('Not all of it was confirmed.');
}

const NOT_TAKEN = 'no service took it within 30 s; it stays marked for the one that comes';

const MAY_HAVE_ARRIVED =
  'What is sent again may have arrived already: it comes under the same id, by which a receiver knows it. Waiting for the running service …';

async function ask(storage: Storage, terminal: Terminal, ids: readonly string[]) {
  const asked: Asked[] = [];
  for (const id of ids) {
    const answer = await askForResend(storage, id);
    if (answer.kind === 'asked') asked.push(answer.asked);
    else reportRefused(terminal, id, answer.why);
  }
  return { asked, refused: ids.length - asked.length };
}

function isConfirmed(one: Resent): boolean {
  return one.kind === 'ended' && one.outcome === 'confirmed';
}

function reportResent(terminal: Terminal, one: Resent): void {
  if (one.kind === 'ended') report(terminal, one.id, one.outcome, ATTEMPTED[one.outcome]);
  else if (one.kind === 'gone') report(terminal, one.id, 'gone', 'gone: it was erased meanwhile');
  else report(terminal, one.id, 'not_taken', NOT_TAKEN);
}

/** Puts rows away, each for the same reason. */
export async function dismissAll(call: Call): Promise<void> {
  const { terminal } = call;
  const ids = idsOf(call);
  if (ids.length === 0) throw new UsageFault('<id> is missing; see --help.');
  const reason = oneOf(call, 'reason', dismissalReasons) ?? 'other';
  const refused = await withSubmissions(call, async (storage, { submissionRetentionDays }) => {
    const keepsContent = submissionRetentionDays > 0;
    let count = 0;
    for (const id of ids) {
      const answer = await dismiss(storage, id, reason, { keepsContent });
      if (answer.kind === 'dismissed') report(terminal, id, 'dismissed', `dismissed (${reason})`);
      else {
        count += 1;
        reportRefused(terminal, id, answer.why);
      }
    }
    return count;
  });
  if (refused > 0) throw new ExitFault('Not all of it was dismissed.');
}

/** Each once, as the store spells it. */
function idsOf(call: Call): string[] {
  return [...new Set(call.others().map((id) => id.toLowerCase()))];
}

function reportRefused(terminal: Terminal, id: string, why: Refused): void {
  report(terminal, id, 'refused', `refused: ${REFUSED[why]}`);
}

/** Whatever else was given may be somebody's name or address, and is not repeated. */
const LIKE_AN_ID = /^[\da-f-]{1,36}$/;

function report(terminal: Terminal, given: string, result: string, words: string): void {
  const id = LIKE_AN_ID.test(given) ? given : '(no id)';
  terminal.print(terminal.json ? JSON.stringify({ id, result, words }) : `${id}  ${words}`);
}
