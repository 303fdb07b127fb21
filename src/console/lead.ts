/** One lead (reference §12.10, §12.14): its fields, its note, its delivery and how it was confirmed. */
import { isId } from '../platform/random.ts';
import { routes } from '../routes.ts';
import type { SubmissionRow } from '../storage/schema.ts';
import { parseAttempts } from '../submissions/attempts.ts';
import { isMixedScript } from '../submissions/homograph.ts';
import { progresses } from '../submissions/read/filter.ts';
import { findSubmission, submissionsOf } from '../submissions/read/list.ts';
import { shortReference } from '../submissions/submission.ts';
import type { Event } from '../upstream/upstream.ts';
import { byWords, outcomeWords, progressWords, reasonWords, statusWords, titleCase, viaWords } from './lead-words.ts';
import { leadFilters, withQuery } from './lists.ts';
import type { Answer, ChangeParts, ConsoleParts, PageRequest } from './page.ts';
import { pathOfPage } from './templates.ts';
import type { Times } from './times.ts';

/** One telephone number without an extension, as people write it. */
const NUMBER = /^\+?[\d\s()./\p{Dash}]+$/u;

export async function leadPage(parts: ConsoleParts, request: PageRequest): Promise<Answer> {
  const row = await findLead(parts, request.values.id);
  if (row === undefined) return { kind: 'unknownRow' };
  await request.record('saw_lead', { ids: [row.id] });
  return await leadView(parts, request, row);
}

/** Returns the page of a lead. `refused` is a note that was not saved, with the reason. */
export async function leadView(
  parts: Pick<ConsoleParts, 'reader' | 'executions' | 'credentials' | 'forms' | 'settings'>,
  { query, times, here }: Pick<PageRequest, 'query' | 'times' | 'here'>,
  row: SubmissionRow,
  refused?: { typed: string; fault: string },
): Promise<Answer> {
  const { data } = JSON.parse(row.event) as Event;
  const { client, fields } = data;
  const execution = client === null ? undefined : await parts.executions.findByAction(client, row.id);
  const form = parts.forms.find(({ name }) => name === row.form);
  const labels = new Map(form?.fields.map((field) => [field.name, field.label]));
  const path = pathOfPage('operatorLead', { id: row.id });
  const page = {
    ...(await neighboursOf(parts, { query, times }, row)),
    id: row.id,
    path,
    here,
    reference: row.form === 'newsletter' ? undefined : shortReference(row.id),
    title: fields.name ?? fields.email ?? titleCase(row.form),
    form: titleCase(row.form),
    from: client === null ? 'Browser' : parts.credentials.labelOf(client),
    client,
    received: times.shown(row.received_ms),
    isGone: row.email === null,
    reply: fields.email && replyLink(fields.email, parts.settings.operator.name),
    call: fields.phone && contactLink('phone', fields.phone),
    fields: Object.entries(fields).map(([name, value]) => ({
      label: labels.get(name) ?? titleCase(name),
      value,
      href: contactLink(name, value),
    })),
    isMixed: isMixedScript(fields.email),
    progresses: progresses.map((value) => ({
      value,
      label: progressWords[value],
      isCurrent: value === row.progress,
    })),
    progressPath: pathOfPage('changeProgress', { id: row.id }),
    notePath: pathOfPage('changeNote', { id: row.id }),
    note: refused?.typed ?? row.note ?? '',
    noteFault: refused?.fault,
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
  return { kind: 'page', title: 'Lead', template: 'lead', data: page, ...(refused && { status: 400 }) };
}

/** Returns the addresses of the next newer and the next older lead with the same filter, and of the list. */
async function neighboursOf(
  { reader, credentials }: Pick<ConsoleParts, 'reader' | 'credentials'>,
  request: Pick<PageRequest, 'query' | 'times'>,
  row: SubmissionRow,
) {
  const { filter, given } = leadFilters(request, credentials.clients());
  const linkTo = async (direction: 'asc' | 'desc') => {
    const [found] = await submissionsOf(reader, filter, { direction, behind: row, limit: 1 });
    return found && withQuery(pathOfPage('operatorLead', { id: found.event.data.id }), given);
  };
  return {
    newer: await linkTo('asc'),
    older: await linkTo('desc'),
    list: withQuery(routes.operatorLeads.path, given),
  };
}

/** Returns the row of a lead by its id, or undefined if there is no such lead. */
export async function findLead({ storage }: Pick<ChangeParts, 'storage'>, id = ''): Promise<SubmissionRow | undefined> {
  return isId(id) ? await findSubmission(storage, id) : undefined;
}

/** Returns the buttons to show. The change itself checks again whether it is possible. */
function possibleChanges(row: SubmissionRow) {
  const { origin, status, reason, email, resend_asked_ms: askedMs } = row;
  const isOpen = status === 'waiting' || status === 'undelivered';
  const isFree = askedMs === null && status !== 'sending';
  return {
    resend: origin === 'browser' && isFree && reason !== 'sent_unkept' && email !== null,
    dismiss: isOpen && isFree,
    note: email !== null,
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
    attempts: parseAttempts(attempts).map(({ at, ms, outcome, by, http_status }) => ({
      at: times.shown(at),
      ms,
      outcome: outcomeWords[outcome],
      httpStatus: http_status,
      by: byWords[by],
      isGood: outcome === 'confirmed',
    })),
  };
}

/** Returns a link that opens the operator's mail program with a message to the person. */
function replyLink(email: string, operatorName: string): string {
  return `${mailto(email)}?subject=${encodeURIComponent(`Your message to ${operatorName}`)}`;
}

function mailto(email: string): string {
  return `mailto:${encodeURIComponent(email).replaceAll('%40', '@')}`;
}

/** Returns the link for a field's value, or undefined if the value is only text. */
function contactLink(name: string, value: string): string | undefined {
  if (name === 'email') return mailto(value);
  if (name !== 'phone') return undefined;
  // With several numbers, an extension or a code of the network, the link could dial something else.
  if (!NUMBER.test(value)) return undefined;
  // People abroad don't dial the zero in parentheses.
  const number = value.replace(/^(\+.*)\(0\)/, '$1').replace(/[^\d+]/g, '');
  return /\d{3}/.test(number) ? `tel:${number}` : undefined;
}
