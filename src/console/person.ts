/** Everything about one person (beyond §7), by the id of one of their leads: to read, to export, to delete. */
import { countPerson, erasePerson, type PersonRows, pendingOf } from '../confirmations/person.ts';
import { countOutboxOf } from '../mail/erasure.ts';
import { listSubscribers } from '../newsletter/listing.ts';
import { openFind } from '../submissions/find.ts';
import { COUNTED_ROWS, submissionPage, submissionPages } from '../submissions/listing.ts';
import { parseCursor, writeCursor } from '../submissions/listing-queries.ts';
import { jsonLineOf } from '../submissions/records.ts';
import { recordCount, recordIn } from './audit.ts';
import { withQuery } from './filters.ts';
import { formTitle } from './lead-words.ts';
import { rowOf, totalWords } from './leads.ts';
import { isRecent } from './sessions.ts';
import { pathOfPage, render } from './templates.ts';
import { timesIn } from './times.ts';
import type { Answer, ConsoleParts, Press, Visit } from './visit.ts';

/** As the store spells ids. */
const ID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;
const PAGE_ROWS = 50;
/** What one agent may have asked one person at a time is far less. */
const PENDING_ROWS = 200;

/** Export and Delete stand in the address as `?export` and `?delete`; the second asks, and deletes nothing. */
export async function personPage(parts: ConsoleParts, visit: Visit): Promise<Answer> {
  const id = visit.values.id ?? '';
  const email = await addressOf(parts, id);
  if (email === undefined) return { kind: 'unknownRow' };
  const { query } = visit;
  if (query.has('export')) return exportPerson(parts, visit, { id, email });
  await visit.record('saw_person', { ids: [id] });
  const path = pathOfPage('operatorPerson', { id });
  const rows = await countPerson(parts, email, COUNTED_ROWS + 1);
  if (query.has('delete')) {
    const main = render('person-delete', {
      path,
      email,
      counts: countsOf(rows),
      isSending: rows.sending > 0,
      leftUnheard: rows.unsubscribed > 0,
      isForwarded: parts.settings.upstream.kind === 'http',
      isRecent: isRecent(visit.session, visit.now),
    });
    return { kind: 'page', title: 'Delete a person', main };
  }

  const times = timesIn(parts.settings.operatorTimeZone);
  const before = parseCursor(query.get('cursor') ?? '');
  const { items, total, older } = await submissionPage(
    parts,
    { email },
    { before, limit: PAGE_ROWS },
  );
  const main = render('person', {
    path,
    email,
    counts: countsOf(rows),
    total: totalWords(total),
    zone: times.zone,
    rows: items.map((item) => rowOf(item, times)),
    pending: (await pendingOf(parts.storage, email, PENDING_ROWS)).map((question) => ({
      client: question.client,
      action: formTitle(question.action),
      asked: times.shown(question.created_at),
      ends: times.shown(question.expires_at),
    })),
    older: older && withQuery(path, { cursor: writeCursor(older) }),
    newest: before && path,
    exportHref: withQuery(path, { export: 'jsonl' }),
    deleteHref: withQuery(path, { delete: 'ask' }),
  });
  return { kind: 'page', title: 'A person', main };
}

/** What the page that asks leads to. All of it is one transaction, with the entry that tells it. */
export async function deletePerson(parts: ConsoleParts, press: Press): Promise<Answer> {
  const { storage, newId } = parts;
  const id = press.values.id ?? '';
  if (press.sent('do') !== 'delete') return { kind: 'operatorButton' };
  const email = await addressOf(parts, id);
  if (email === undefined) return { kind: 'unknownRow' };
  const { now, session } = press;
  // Two numbers are drawn before: after a rollback the function may run again.
  const entry = { id: newId(), at: now.toISOString(), name: session.name };
  await storage.write(async (tx) => {
    const rows = await erasePerson(storage, tx, email, now);
    const { leads, subscriptions, confirmations, subscribers, outbox } = rows;
    const count = leads + subscriptions + confirmations + subscribers + outbox;
    await recordIn(tx, { ...entry, what: 'deleted_person', about: { ids: [id], count } });
  });
  parts.log.info({ id }, 'an operator deleted everything about a person');
  // Out of the files as well, in its own time: on PostgreSQL it may take minutes.
  storage.scrub().then(
    (scrubbed) => parts.log.info({ scrubbed }, 'what was deleted is scrubbed'),
    (error) => parts.log.error({ err: error }, 'what was deleted could not be scrubbed'),
  );
  // There it is written that it was done, and by whom.
  return { kind: 'done', to: pathOfPage('operatorAudit') };
}

/** One JSON line for each submission, then for each question that is open, and for their subscription. */
async function exportPerson(
  parts: ConsoleParts,
  { record }: Visit,
  { id, email }: { id: string; email: string },
): Promise<Answer> {
  const ids = [id];
  const entry = await record('exported_person', { ids });

  async function* text() {
    let count = 0;
    try {
      for await (const page of submissionPages(parts, { email })) {
        count += page.length;
        yield page.map(jsonLineOf).join('');
      }
      for (const { fields, ...asked } of await pendingOf(parts.storage, email, PENDING_ROWS)) {
        count += 1;
        yield `${JSON.stringify({ type: 'confirmation.pending', ...asked, fields: JSON.parse(fields ?? '{}') })}\n`;
      }
      const { subscribers } = await listSubscribers(parts.storage, { search: email }, 1);
      for (const subscriber of subscribers.filter((one) => one.email === email)) {
        count += 1;
        yield `${JSON.stringify({ type: 'subscriber', ...subscriber })}\n`;
      }
      const outbox = await countOutboxOf(parts.storage, email);
      if (outbox > 0)
        yield `${JSON.stringify({ type: 'messages', address: email, count: outbox })}\n`;
    } finally {
      await recordCount(parts.storage, entry, { ids, count });
    }
  }
  return {
    kind: 'file',
    name: 'person.jsonl',
    type: 'application/jsonl; charset=utf-8',
    text: text(),
  };
}

/** Undefined where there is no such lead, or what was written in it is gone. */
async function addressOf(
  { storage }: Pick<ConsoleParts, 'storage'>,
  id: string,
): Promise<string | undefined> {
  const row = ID.test(id) ? await openFind(storage)(id) : undefined;
  return row?.email ?? undefined;
}

function countsOf(rows: PersonRows): string[] {
  const { leads, subscriptions, confirmations, subscribers, outbox } = rows;
  const many = (count: number, one: string, more: string) =>
    `${count.toLocaleString('en')} ${count === 1 ? one : more}`;
  const kept =
    leads + subscriptions > COUNTED_ROWS
      ? [`more than ${COUNTED_ROWS.toLocaleString('en')} leads and subscriptions`]
      : [many(leads, 'lead', 'leads'), many(subscriptions, 'subscription', 'subscriptions')];
  return [
    ...kept,
    many(confirmations, 'open question', 'open questions'),
    many(subscribers, 'subscriber to the newsletter', 'subscribers to the newsletter'),
    many(outbox, 'message to them', 'messages to them'),
  ];
}
