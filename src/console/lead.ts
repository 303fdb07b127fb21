/** One lead (beyond §7): what was written, how it was confirmed, what became of it, and what can be done now. */
import type { ExecutionRow, SubmissionRow } from '../storage/schema.ts';
import { attemptsOf } from '../submissions/attempts.ts';
import { openFind } from '../submissions/find.ts';
import { isMixedScript } from '../submissions/mixed-scripts.ts';
import { askForResend, dismiss, dismissalReasons } from '../submissions/operator-changes.ts';
import type { Event } from '../upstream/upstream.ts';
import {
  byWords,
  formTitle,
  outcomeWords,
  reasonWords,
  refusalFor,
  statusWords,
  viaWords,
} from './lead-words.ts';
import { linkOf } from './reachable.ts';
import { pathOfPage, render } from './templates.ts';
import { type Times, timesIn } from './times.ts';
import type { Answer, ConsoleParts, Press, Visit } from './visit.ts';

/** As the store spells ids. */
const ID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

export async function leadPage(parts: ConsoleParts, visit: Visit): Promise<Answer> {
  const row = await leadOf(parts, visit.values.id);
  if (row === undefined) return { kind: 'unknownRow' };
  const event = JSON.parse(row.event) as Event;
  const { client } = event.data;
  const execution =
    client === null ? undefined : await parts.executions.findByAction(client, row.id);
  await visit.record('saw_lead', { ids: [row.id] });

  const times = timesIn(parts.settings.operatorTimeZone);
  const form = parts.forms.find(({ name }) => name === row.form);
  const labels = new Map(form?.fields.map((field) => [field.name, field.label]));
  const { fields } = event.data;
  const main = render('lead', {
    path: pathOfPage('operatorLead', { id: row.id }),
    id: row.id,
    title: fields.name ?? fields.email ?? formTitle(row.form),
    form: formTitle(row.form),
    from: client === null ? 'Browser' : `Agent ${client}`,
    received: times.shown(row.received_ms),
    isGone: row.email === null,
    fields: Object.entries(fields).map(([name, value]) => ({
      label: labels.get(name) ?? formTitle(name),
      value,
      href: linkOf(name, value),
    })),
    isMixed: isMixedScript(fields.email),
    recipient: event.data.recipient?.name ?? parts.settings.operator.name,
    ...statusOf(row, times),
    can: whatCanBeDone(row),
    consent: event.data.consent_recorded_at && times.shown(event.data.consent_recorded_at),
    receipt: execution && receiptOf(execution, times),
    zone: times.zone,
  });
  return { kind: 'page', title: 'Lead', main };
}

/** Resend, Dismiss, Spam. Each is one conditional change: of two who press, one changes something. */
export async function changeLead(parts: ConsoleParts, press: Press): Promise<Answer> {
  const id = press.values.id ?? '';
  const done: Answer = { kind: 'done', to: pathOfPage('operatorLead', { id }) };
  const pressed = press.sent('do');
  if (pressed !== 'resend' && pressed !== 'dismiss' && pressed !== 'spam') {
    return { kind: 'operatorButton' };
  }
  const row = await leadOf(parts, id);
  if (row === undefined) return { kind: 'unknownRow' };

  if (pressed === 'resend') {
    const asked = await askForResend(parts.storage, id);
    if (asked.kind === 'refused') return refusalFor(asked.why);
    await press.record('resent', { ids: [id] });
    return done;
  }
  // Whatever else was said of it: it is put away.
  const reason = dismissalReasons.find((one) => one === press.sent('reason')) ?? 'other';
  const isSpam = pressed === 'spam';
  const keepsContent = parts.settings.submissionRetentionDays > 0;
  const answer = await dismiss(parts.storage, id, isSpam ? 'spam' : reason, { keepsContent });
  if (answer.kind === 'refused') {
    return answer.why === 'dismissed' ? done : refusalFor(answer.why);
  }
  await press.record(isSpam ? 'marked_spam' : 'dismissed', { ids: [id] });
  return done;
}

async function leadOf(
  { storage }: Pick<ConsoleParts, 'storage'>,
  id: string | undefined,
): Promise<SubmissionRow | undefined> {
  return id !== undefined && ID.test(id) ? await openFind(storage)(id) : undefined;
}

/** What each button would find; the change itself asks again. */
function whatCanBeDone(row: SubmissionRow) {
  const { origin, status, reason, email, resend_asked_ms: askedMs } = row;
  const isOpen = status === 'waiting' || status === 'undelivered';
  const isFree = askedMs === null && status !== 'sending';
  return {
    resend:
      origin === 'browser' &&
      isFree &&
      status !== 'dismissed' &&
      reason !== 'sent_unkept' &&
      email !== null,
    dismiss: isOpen && isFree,
    person: email !== null,
  };
}

function statusOf(row: SubmissionRow, times: Times) {
  const { status, reason, status_since_ms, next_attempt_ms: nextMs, attempts } = row;
  return {
    status,
    statusWord: statusWords[status],
    reason: reason === null ? undefined : reasonWords[reason],
    since: times.shown(status_since_ms),
    isMarked: row.resend_asked_ms !== null,
    next: status === 'waiting' && nextMs !== null ? times.shown(nextMs) : undefined,
    attempts: attemptsOf(attempts).map(({ at, ms, outcome, by }) => ({
      at: times.shown(at),
      ms,
      outcome: outcomeWords[outcome],
      by: byWords[by],
      isGood: outcome === 'confirmed',
    })),
  };
}

function receiptOf(execution: ExecutionRow, times: Times) {
  return {
    status: execution.status,
    at: times.shown(execution.created_at),
    statement: execution.confirmation_text,
    via: viaWords[execution.confirmed_via],
    signed: execution.signed_receipt,
  };
}
