/** One lead (reference §12.10): its fields, its confirmation, its delivery, and buttons to change it. */
import type { SubmissionRow } from '../storage/schema.ts';
import { parseAttempts } from '../submissions/attempts.ts';
import { isMixedScript } from '../submissions/homograph.ts';
import { dismiss, dismissalReasons, requestResend } from '../submissions/operator-changes.ts';
import { findSubmission } from '../submissions/read/list.ts';
import type { Event } from '../upstream/upstream.ts';
import { byWords, outcomeWords, reasonWords, statusWords, titleCase, viaWords } from './lead-words.ts';
import { ID } from './lists.ts';
import type { Answer, ChangeParts, ChangeRequest, ConsoleParts, PageRequest } from './page.ts';
import type { Times } from './times.ts';

/** Characters of a number that a telephone does not dial. */
const NOT_DIALLED = /[^\d+*#,;]/g;

export async function leadPage(parts: ConsoleParts, { values, record, times }: PageRequest): Promise<Answer> {
  const row = await findLead(parts, values.id);
  if (row === undefined) return { kind: 'unknownRow' };
  const { data } = JSON.parse(row.event) as Event;
  const { client, fields } = data;
  const execution = client === null ? undefined : await parts.executions.findByAction(client, row.id);
  await record('saw_lead', { ids: [row.id] });

  const form = parts.forms.find(({ name }) => name === row.form);
  const labels = new Map(form?.fields.map((field) => [field.name, field.label]));
  const page = {
    id: row.id,
    title: fields.name ?? fields.email ?? titleCase(row.form),
    form: titleCase(row.form),
    from: client === null ? 'Browser' : `Agent ${client}`,
    received: times.shown(row.received_ms),
    isGone: row.email === null,
    fields: Object.entries(fields).map(([name, value]) => ({
      label: labels.get(name) ?? titleCase(name),
      value,
      href: contactLink(name, value),
    })),
    isMixed: isMixedScript(fields.email),
    recipient: data.recipient?.name ?? parts.settings.operator.name,
    ...statusOf(row, times),
    can: possibleChanges(row),
    consent: data.consent_recorded_at && times.shown(data.consent_recorded_at),
    receipt: execution && {
      status: execution.status,
      at: times.shown(execution.created_at),
      statement: execution.confirmation_text,
      via: viaWords[execution.confirmed_via],
      signed: execution.signed_receipt,
    },
  };
  return { kind: 'page', title: 'Lead', template: 'lead', data: page };
}

/** The buttons of the page, with the audit action of each. */
const buttons = new Map<string | null, 'resent' | 'dismissed' | 'marked_spam'>([
  ['resend', 'resent'],
  ['dismiss', 'dismissed'],
  ['spam', 'marked_spam'],
]);

/** Resends or dismisses a lead by one conditional update, so that only one of two concurrent clicks changes it. */
export async function changeLead(parts: ChangeParts, request: ChangeRequest): Promise<Answer> {
  const { storage, settings } = parts;
  const id = request.values.id ?? '';
  const what = buttons.get(request.sent('do'));
  if (what === undefined) return { kind: 'operatorButton' };
  if ((await findLead(parts, id)) === undefined) return { kind: 'unknownRow' };

  const given = dismissalReasons.find((one) => one === request.sent('reason')) ?? 'other';
  const reason = what === 'marked_spam' ? 'spam' : given;
  const keepsContent = settings.submissionRetentionDays > 0;
  const why = await request.commit(async (tx) => {
    const changed =
      what === 'resent'
        ? await requestResend(storage, tx, id)
        : await dismiss(storage, tx, id, { reason, keepsContent });
    if (changed.kind === 'refused') return { refused: changed.why };
    return { entry: { name: request.session.name, what, about: { ids: [id] } } };
  });
  // A lead that was dismissed for another reason stays dismissed.
  if (why === undefined || (why === 'dismissed' && what !== 'resent')) return { kind: 'done', to: request.path };
  return { kind: why === 'underWay' ? 'rowUnderWay' : 'unknownRow' };
}

/** Returns the row of a lead by its id, or undefined if there is no such lead. */
export async function findLead({ storage }: Pick<ChangeParts, 'storage'>, id = ''): Promise<SubmissionRow | undefined> {
  return ID.test(id) ? await findSubmission(storage, id) : undefined;
}

/** Returns the buttons to show. The change itself checks again whether it is possible. */
function possibleChanges(row: SubmissionRow) {
  const { origin, status, reason, email, resend_asked_ms: askedMs } = row;
  const isOpen = status === 'waiting' || status === 'undelivered';
  const isFree = askedMs === null && status !== 'sending';
  return {
    resend: origin === 'browser' && isFree && status !== 'dismissed' && reason !== 'sent_unkept' && email !== null,
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
    attempts: parseAttempts(attempts).map(({ at, ms, outcome, by }) => ({
      at: times.shown(at),
      ms,
      outcome: outcomeWords[outcome],
      by: byWords[by],
      isGood: outcome === 'confirmed',
    })),
  };
}

/** Returns the link for a field's value, or undefined if the value is only text. */
function contactLink(name: string, value: string): string | undefined {
  if (name === 'email') return `mailto:${encodeURIComponent(value).replaceAll('%40', '@')}`;
  if (name !== 'phone') return undefined;
  const number = value.replace(NOT_DIALLED, '');
  return /\d{3}/.test(number) ? `tel:${encodeURI(number).replaceAll('#', '%23')}` : undefined;
}
