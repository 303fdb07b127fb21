/** Handles the buttons for leads: progress, note, resend, dismissal, undo (reference §12.10, §12.14). */
import type { Field } from '../forms/catalog.ts';
import { checkValue } from '../forms/validate.ts';
import { isId } from '../platform/random.ts';
import type { OpenTransaction } from '../storage/database.ts';
import type { Progress } from '../storage/schema.ts';
import { type ChangeRefusal, dismiss, dismissalReasons, requestResend } from '../submissions/operator-changes.ts';
import { type Previous, restoreProgress, setNote, setProgress } from '../submissions/progress.ts';
import { progresses } from '../submissions/read/filter.ts';
import { findLead, leadView } from './lead.ts';
import { many } from './lead-words.ts';
import type { Answer, ChangeParts, ChangeRequest } from './page.ts';
import { setResult } from './sessions.ts';

/** Number of leads that one click changes. Their ids must fit into `FORM_BODY_BYTES` (`routes.ts`). */
const MAXIMUM_IDS = 100;

/** The note has the rules of the field `message`. */
const NOTE: Field = { name: 'note', kind: 'text', required: false, maximum: 4_000, label: 'Note', example: '' };

/** A change of progress that can be undone. `key` names the change in the form of the button "Undo". */
type Undo = { key: string; to: Progress; previous: Previous[] };

/** Sets the progress of one lead. */
export async function changeProgress(parts: ChangeParts, request: ChangeRequest): Promise<Answer> {
  const progress = progressOf(request.sent('progress'));
  return progress === undefined ? { kind: 'operatorButton' } : await markOne(parts, request, progress);
}

async function markOne(parts: ChangeParts, request: ChangeRequest, progress: Progress): Promise<Answer> {
  const id = request.values.id ?? '';
  if (!isId(id)) return { kind: 'unknownRow' };
  const why = await request.commit((tx) => mark(parts, request, tx, { ids: [id], progress }));
  return why === undefined ? { kind: 'done', to: request.returnTo } : { kind: 'unknownRow' };
}

/** The buttons of a lead's delivery, with the audit action of each. */
const leadButtons = new Map<string | null, 'resent' | 'dismissed' | 'marked_spam'>([
  ['resend', 'resent'],
  ['dismiss', 'dismissed'],
  ['spam', 'marked_spam'],
]);

/** Resends or dismisses one lead by a conditional update, so that only one of two concurrent clicks changes it. */
export async function changeLead(parts: ChangeParts, request: ChangeRequest): Promise<Answer> {
  const what = request.sent('do');
  const entry = leadButtons.get(what);
  if (entry === undefined) return { kind: 'operatorButton' };
  const { storage, settings } = parts;
  const { session, sent, values, commit } = request;
  const returnTo = sent('page') === null ? request.path : request.returnTo;
  const id = values.id ?? '';
  if (!isId(id)) return { kind: 'unknownRow' };
  const given = dismissalReasons.find((one) => one === sent('reason')) ?? 'other';
  const reason = what === 'spam' ? 'spam' : given;
  const keepsContent = settings.submissionRetentionDays > 0;
  const why = await commit<ChangeRefusal>(async (tx) => {
    const changed =
      what === 'resend'
        ? await requestResend(storage, tx, id)
        : await dismiss(storage, tx, id, { reason, keepsContent });
    if (changed.kind === 'refused') return { refused: changed.why };
    if (what === 'spam') await setProgress(storage, tx, [id], { progress: 'spam', keepsContent });
    const text =
      what === 'resend' ? '1 lead will be sent again soon.' : '1 lead dismissed. The service no longer delivers it.';
    await setResult(tx, session, { text });
    return { entry: { name: session.name, what: entry, about: { ids: [id] } } };
  });
  // A lead that was dismissed for another reason stays dismissed.
  if (why === undefined || why === 'dismissed') return { kind: 'done', to: returnTo };
  return { kind: why === 'underWay' ? 'rowUnderWay' : 'unknownRow' };
}

/** Sets the progress of several leads, or marks them for a resend. Skips unknown ids. */
export async function changeLeads(parts: ChangeParts, request: ChangeRequest): Promise<Answer> {
  const given = [...new Set(request.sentAll('id'))];
  const what = request.sent('do');
  const progress = progressOf(what);
  if (given.length === 0 || given.length > MAXIMUM_IDS) return { kind: 'noLeadSelected' };
  if (progress === undefined && what !== 'resend') return { kind: 'operatorButton' };
  const ids = given.filter(isId);
  await request.commit(async (tx) => {
    const skipped = given.length - ids.length;
    if (progress === undefined) return await resendAll(parts, request, tx, ids, skipped);
    const changed = await mark(parts, request, tx, { ids, progress, skipped });
    if (!('refused' in changed)) return changed;
    await setResult(tx, request.session, { text: `Nothing has changed. ${skippedWords(given.length)}` });
    return {};
  });
  return { kind: 'done', to: request.returnTo };
}

async function mark(
  { storage, settings, newId }: ChangeParts,
  { session }: ChangeRequest,
  tx: OpenTransaction,
  { ids, progress, skipped = 0 }: { ids: readonly string[]; progress: Progress; skipped?: number },
) {
  const keepsContent = settings.submissionRetentionDays > 0;
  const { changed, dismissed } = await setProgress(storage, tx, ids, { progress, keepsContent });
  if (changed.length === 0) return { refused: 'unknown' as const };
  const undo: Undo = { key: newId(), to: progress, previous: changed };
  const text = [
    `${many(changed.length, 'lead')} marked as ${progress}.`,
    dismissed > 0 && `The service no longer delivers ${changed.length === 1 ? 'it' : `${dismissed} of them`}.`,
    skippedWords(skipped + ids.length - changed.length),
  ];
  await setResult(tx, session, { text: text.filter(Boolean).join(' '), undo: JSON.stringify(undo) });
  const about = { ids: changed.map(({ id }) => id), progress };
  return { entry: { name: session.name, what: 'marked' as const, about } };
}

async function resendAll(
  { storage }: ChangeParts,
  { session }: ChangeRequest,
  tx: OpenTransaction,
  ids: readonly string[],
  unknown: number,
) {
  const asked: string[] = [];
  for (const id of [...ids].sort()) {
    if ((await requestResend(storage, tx, id)).kind === 'asked') asked.push(id);
  }
  const words = asked.length === 0 ? 'Nothing has changed.' : `${many(asked.length, 'lead')} will be sent again soon.`;
  const text = `${words} ${skippedWords(unknown + ids.length - asked.length)}`.trim();
  await setResult(tx, session, { text });
  if (asked.length === 0) return {};
  return { entry: { name: session.name, what: 'resent' as const, about: { ids: asked } } };
}

function skippedWords(count: number): string {
  if (count === 0) return '';
  return `${many(count, 'lead')} ${count === 1 ? 'was' : 'were'} skipped.`;
}

/** Restores the progress of the session's last change. */
export async function undoChange(_parts: ChangeParts, { session, sent, commit, returnTo }: ChangeRequest) {
  await commit(async (tx) => {
    const row = await tx
      .selectFrom('operator_sessions')
      .select('undo')
      .where('digest', '=', session.digest)
      .executeTakeFirst();
    const undo = row?.undo ? (JSON.parse(row.undo) as Undo) : undefined;
    const restored = undo && undo.key === sent('change') ? await restoreProgress(tx, undo) : [];
    const text = restored.length === 0 ? 'Nothing is left to undo.' : `Undone for ${many(restored.length, 'lead')}.`;
    await setResult(tx, session, { text });
    if (restored.length === 0) return {};
    return { entry: { name: session.name, what: 'undid', about: { ids: restored } } };
  });
  return { kind: 'done' as const, to: returnTo };
}

/** Sets or removes the note of a lead. If the note is refused, returns the page with the typed note. */
export async function changeNote(parts: ChangeParts, request: ChangeRequest): Promise<Answer> {
  const id = request.values.id ?? '';
  const typed = request.sent('note');
  if (typed === null) return { kind: 'operatorButton' };
  const row = await findLead(parts, id);
  if (row === undefined) return { kind: 'unknownRow' };
  const note = checkValue(NOTE, typed);
  if (typeof note === 'object') {
    const why = note.kind === 'tooLong' ? 'it is longer than 4,000 characters' : 'it has characters that can’t be used';
    const query = new URLSearchParams(request.returnTo.split(/\?(.*)/s, 2)[1]);
    const fault = `The note was not saved, because ${why}.`;
    return await leadView(parts, { query, times: request.times, here: request.returnTo }, row, { typed, fault });
  }
  const why = await request.commit(async (tx) => {
    if (!(await setNote(tx, id, note ?? null))) return { refused: 'unknown' };
    await setResult(tx, request.session, {
      text: note === undefined ? 'The note was removed.' : 'The note was saved.',
    });
    return { entry: { name: request.session.name, what: 'noted', about: { ids: [id] } } };
  });
  return why === undefined ? { kind: 'done', to: request.returnTo } : { kind: 'unknownRow' };
}

function progressOf(text: string | null): Progress | undefined {
  return progresses.find((progress) => progress === text);
}
