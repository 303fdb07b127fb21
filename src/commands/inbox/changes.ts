/** `npm run inbox -- resend` and `dismiss` (reference §13.4): one line for each id. */
import { systemClock } from '../../platform/clock.ts';
import type { AttemptOutcome } from '../../submissions/attempts.ts';
import {
  type ChangeRefusal,
  dismiss,
  dismissalReasons,
  type ResendRequest,
  requestResend,
  resent,
  undeliveredIds,
} from '../../submissions/operator-changes.ts';
import { oneOf } from '../arguments.ts';
import { ExitFault, UsageFault } from '../command-errors.ts';
import type { Call } from '../command-line.ts';
import { withSubmissions } from '../open-store.ts';
import type { Terminal } from '../terminal.ts';

const REFUSED: Readonly<Record<ChangeRefusal, string>> = {
  unknown: 'there is nothing with that id; `list` shows them',
  agent: 'an agent’s is never sent again: the agent was told to ask the person anew',
  dismissed: 'it was dismissed',
  delivered: 'it was delivered',
  underWay: 'it is under way; try again when that has ended',
  contentGone: 'what was written in it is gone',
  sentUnkept: 'it was sent while the database was away, and is never sent a second time',
};

const RESENT: Readonly<Record<AttemptOutcome | 'gone' | 'not_taken', string>> = {
  confirmed: 'confirmed',
  rejected: 'rejected',
  rateLimited: 'not confirmed: the upstream asks to wait',
  unconfirmed: 'not confirmed',
  unknown: 'not known: its attempt was broken off',
  gone: 'gone: it was erased meanwhile',
  not_taken: 'no service took it within 30 s; it stays marked for the one that comes',
};

const MAY_HAVE_ARRIVED =
  'What is sent again may have arrived already: it comes under the same id, by which a receiver knows it. Waiting for the running service …';

/** Marks submissions as due, and reports what the running service does with them. */
export async function resend(call: Call): Promise<void> {
  const { terminal } = call;
  const given = idsOf(call);
  const all = call.flag('undelivered');
  if (all === given.length > 0) throw new UsageFault('Give ids, or --undelivered; see --help.');
  const unconfirmed = await withSubmissions(terminal, async (storage) => {
    const ids = all ? await undeliveredIds(storage) : given;
    if (ids.length === 0) terminal.say('There is nothing to send again.');
    const asked: ResendRequest[] = [];
    for (const id of ids) {
      const answer = await storage.write((tx) => requestResend(storage, tx, id));
      if (answer.kind === 'asked') asked.push(answer.asked);
      else reportRefused(terminal, id, answer.why);
    }
    if (asked.length > 0) terminal.say(MAY_HAVE_ARRIVED);
    let count = ids.length - asked.length;
    for await (const one of resent(storage, systemClock, asked)) {
      const result = one.kind === 'ended' ? one.outcome : one.kind === 'gone' ? 'gone' : 'not_taken';
      if (result !== 'confirmed') count += 1;
      report(terminal, one.id, result, RESENT[result]);
    }
    return count;
  });
  if (unconfirmed > 0) throw new ExitFault('Not all of it was confirmed.');
}

/** Dismisses all given submissions for one reason. */
export async function dismissAll(call: Call): Promise<void> {
  const { terminal } = call;
  const ids = idsOf(call);
  if (ids.length === 0) throw new UsageFault('<id> is missing; see --help.');
  const reason = oneOf(call, 'reason', dismissalReasons) ?? 'other';
  let isRefused = false;
  await withSubmissions(terminal, async (storage, { submissionRetentionDays }) => {
    const keepsContent = submissionRetentionDays > 0;
    for (const id of ids) {
      const answer = await storage.write((tx) => dismiss(storage, tx, id, { reason, keepsContent }));
      if (answer.kind === 'dismissed') report(terminal, id, 'dismissed', `dismissed (${reason})`);
      else reportRefused(terminal, id, answer.why);
      isRefused ||= answer.kind !== 'dismissed';
    }
  });
  if (isRefused) throw new ExitFault('Not all of it was dismissed.');
}

/** Returns each id once, as the store spells it. */
function idsOf(call: Call): string[] {
  return [...new Set(call.others().map((id) => id.toLowerCase()))];
}

function reportRefused(terminal: Terminal, id: string, why: ChangeRefusal): void {
  report(terminal, id, 'refused', `refused: ${REFUSED[why]}`);
}

/**
 * Matches an argument that may be an id. Any other argument may be a name or an address, so the output does not repeat
 * it.
 */
const LIKE_AN_ID = /^[\da-f-]{1,36}$/;

function report(terminal: Terminal, given: string, result: string, words: string): void {
  const id = LIKE_AN_ID.test(given) ? given : '(no id)';
  terminal.print(terminal.json ? JSON.stringify({ id, result, words }) : `${id}  ${words}`);
}
