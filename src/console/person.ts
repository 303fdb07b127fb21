/**
 * Shows, exports and deletes everything about one person (reference §12.11), who is given by the id of one of their
 * leads.
 */
import { countPerson, erasePerson, exportPerson, type PersonRows, pendingOf } from '../confirmations/person.ts';
import { requestScrub, scrubDueAt } from '../storage/scrubbing.ts';
import { COUNTED_ROWS, parseCursor, submissionPage } from '../submissions/read/list.ts';
import { JSON_LINES, recordedFile } from './downloads.ts';
import { findLead } from './lead.ts';
import { many, titleCase } from './lead-words.ts';
import { rowOf, totalWords } from './leads.ts';
import { leadLinks, PAGE_ROWS, withQuery } from './lists.ts';
import type { Answer, ChangeParts, ChangeRequest, ConsoleParts, PageRequest } from './page.ts';
import { freshLinkOf, isFresh, setResult } from './sessions.ts';
import { pathOfPage } from './templates.ts';

/** Maximum number of shown pending confirmations. Agents can request far fewer from one person. */
const PENDING_ROWS = 200;

/**
 * Shows a person's data. With `?export`, exports the data. With `?delete`, shows the page that asks before the
 * deletion.
 */
export async function personPage(parts: ConsoleParts, request: PageRequest): Promise<Answer> {
  const { path, query, now, times, values } = request;
  const id = values.id ?? '';
  const email = (await findLead(parts, id))?.email;
  if (!email) return { kind: 'unknownRow' };
  if (query.has('export')) {
    const file = { name: 'person.jsonl', type: JSON_LINES };
    // `npm run inbox -- export --email` writes the same lines.
    const chunks = exportPerson(parts.reader, email);
    return recordedFile(parts, request, file, 'exported_person', { ids: [id] }, chunks);
  }
  await request.record('saw_person', { ids: [id] });
  const rows = await countPerson(parts.reader, email, COUNTED_ROWS + 1);
  if (query.has('delete')) {
    const dueAt = scrubDueAt(parts.storage, now, times.zone);
    const data = {
      email,
      counts: countsOf(rows),
      isSending: rows.sending > 0,
      leftUnheard: rows.unsubscribed > 0,
      isForwarded: parts.settings.upstream.kind === 'http',
      link: isFresh(request.session, now) ? undefined : freshLinkOf(request.session, deletionPage(path)),
      scrubbedAt: dueAt > now ? times.shown(dueAt) : undefined,
    };
    return { kind: 'page', title: 'Delete a person', template: 'person-delete', data };
  }

  const before = parseCursor(query.get('cursor') ?? '');
  const { items, total, older } = await submissionPage(parts.reader, { email }, { before, limit: PAGE_ROWS });
  const data = {
    email,
    counts: countsOf(rows),
    total: totalWords(total),
    rows: items.map((item) => rowOf(parts, request, item)),
    pending: (await pendingOf(parts.storage, email, PENDING_ROWS)).map((question) => ({
      client: parts.credentials.labelOf(question.client),
      action: titleCase(question.action),
      asked: times.shown(question.created_at),
      ends: times.shown(question.expires_at),
    })),
    ...leadLinks(path, {}, { before, older }),
    exportHref: withQuery(path, { export: 'jsonl' }),
    deleteHref: deletionPage(path),
  };
  return { kind: 'page', title: 'Person', template: 'person', data };
}

/** Returns the address of the page that asks before the deletion. */
export const deletionPage = (path: string) => withQuery(path, { delete: 'ask' });

/** Deletes a person's data and writes the audit entry, in one transaction. */
export async function deletePerson(parts: ChangeParts, request: ChangeRequest): Promise<Answer> {
  const { storage, newId } = parts;
  const { now, session } = request;
  const id = request.values.id ?? '';
  if (request.sent('do') !== 'delete') return { kind: 'operatorButton' };
  const email = (await findLead(parts, id))?.email;
  if (!email) return { kind: 'unknownRow' };
  // Id and time are made before the transaction, whose function runs again after a rollback.
  const scrub = { id: newId(), dueAt: scrubDueAt(storage, now, parts.settings.operatorTimeZone) };
  await request.commit(
    async (tx) => {
      const erased = await erasePerson(tx, email, now);
      const { leads, subscriptions, confirmations, subscribers, outbox } = erased;
      const count = leads + subscriptions + confirmations + subscribers + outbox;
      await requestScrub(tx, scrub);
      await setResult(tx, session, { text: `Deleted: ${countsOf(erased).join(', ')}.` });
      return { entry: { name: session.name, what: 'deleted_person', about: { ids: [id], count } } };
    },
    { bulk: true },
  );
  parts.log.info({ id }, 'an operator deleted everything about a person');
  parts.scrubbing.soon();
  return { kind: 'done', to: pathOfPage('operatorLeads') };
}

function countsOf({ leads, subscriptions, confirmations, subscribers, outbox }: PersonRows): string[] {
  const stored =
    leads + subscriptions > COUNTED_ROWS
      ? [`more than ${COUNTED_ROWS.toLocaleString('en')} leads and subscriptions`]
      : [many(leads, 'lead'), subscriptions > 0 && many(subscriptions, 'newsletter submission')];
  const others = [
    confirmations > 0 && many(confirmations, 'pending confirmation'),
    subscribers > 0 && 'the newsletter subscription',
    outbox > 0 && many(outbox, 'message to them', 'messages to them'),
  ];
  return [...stored, ...others].filter((words) => words !== false);
}
