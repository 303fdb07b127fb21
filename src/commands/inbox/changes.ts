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
  unknown: 'no submission has this id',
  agent: 'it came from an agent, which must ask the person again',
  dismissed: 'it is already dismissed',
  delivered: 'it is already delivered',
  underWay: 'an attempt is under way, try again in a minute',
  contentGone: 'its content is deleted',
  sentUnkept: 'it was sent while the database was unavailable, and is never sent twice',
};

const RESENT: Readonly<Record<AttemptOutcome | 'gone' | 'not_taken', string>> = {
  confirmed: 'confirmed',
  rejected: 'rejected by the receiver',
  rateLimited: 'not confirmed: the receiver asks to wait',
  unconfirmed: 'not confirmed',
  unknown: 'unknown: the service stopped during the attempt',
  gone: 'deleted before it was sent',
  not_taken: 'no running service sent it within 30 s. It stays marked, and a service sends it after its start',
};

const MAY_HAVE_ARRIVED =
  'A resent submission may have arrived before. It has the same id, by which the receiver recognises it. Waiting for the service …';

/** Marks submissions as due, and reports what the running service does with them. */
export async function resend(call: Call): Promise<void> {
  const { terminal } = call;
  const given = idsOf(call);
  const all = call.flag('undelivered');
  if (all === given.length > 0) throw new UsageFault('Give one or more ids, or --undelivered. See --help.');
  const unconfirmed = await withSubmissions(terminal, async (storage) => {
    const ids = all ? await undeliveredIds(storage) : given;
    if (ids.length === 0) terminal.say('No submission is undelivered.');
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
  if (unconfirmed > 0) throw new ExitFault('Some submissions were not confirmed.');
}

/** Dismisses all given submissions for one reason. */
export async function dismissAll(call: Call): Promise<void> {
  const { terminal } = call;
  const ids = idsOf(call);
  if (ids.length === 0) throw new UsageFault('Missing argument: <id>. See --help.');
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
  if (isRefused) throw new ExitFault('Some submissions were not dismissed.');
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
