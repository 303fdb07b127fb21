/** The list of leads (reference §12.7, §12.14). */
import { valuesOf } from '../forms/catalog.ts';
import { routes } from '../routes.ts';
import { formNames, origins, progresses, statuses } from '../submissions/read/filter.ts';
import {
  COUNTED_ROWS,
  parseCursor,
  type StoredSubmission,
  submissionPage,
  submissionsOf,
  writeCursor,
} from '../submissions/read/list.ts';
import { countChips, countNewer } from '../submissions/read/statistics.ts';
import { many, progressWords, statusTitles, titleCase } from './lead-words.ts';
import { leadFilters, leadLinks, PAGE_ROWS, withQuery } from './lists.ts';
import type { Answer, ConsoleParts, PageRequest } from './page.ts';
import { pathOfPage } from './templates.ts';

/** Code points of the message in a row. */
const SNIPPET = 160;
/** Limit of the number of new leads that the script shows. */
const MAXIMUM_NEWER = 100;

export async function leadsPage(parts: ConsoleParts, request: PageRequest): Promise<Answer> {
  const { path, here } = request;
  const clients = parts.credentials.clients();
  const { filter, before, given } = leadFilters(request, clients);
  // The newest lead of all is read before the list. A lead that arrives between the two queries counts as new.
  const [newest] = await submissionsOf(parts.reader, { onlyLeads: true }, { direction: 'desc', limit: 1 });
  const { items, total, older } = await submissionPage(parts.reader, filter, { before, limit: PAGE_ROWS });
  const chips = await countChips(parts.reader);
  await request.record('saw_leads', { count: items.length, filters: Object.keys(given) });

  const { q, ...folded } = given;
  const isListed = clients.some(({ name }) => name === given.agent);
  const agents = clients.map(({ name }) => ({ value: name, label: parts.credentials.labelOf(name) }));
  const data = {
    given,
    q,
    foldedCount: Object.keys(folded).filter((name) => name !== 'progress').length,
    isFiltered: Object.keys(given).length > 0,
    choices: {
      status: statuses.map((value) => ({ value, label: statusTitles[value] })),
      form: formNames.map((value) => ({ value, label: titleCase(value) })),
      origin: origins.map((value) => ({ value, label: value === 'agent' ? 'Agent' : 'Browser' })),
      agent: given.agent === undefined || isListed ? agents : [...agents, { value: given.agent, label: given.agent }],
    },
    chips: chipsOf(path, given, chips),
    total: totalWords(total),
    rows: items.map((item) => rowOf(parts, request, item, withQuery('', given))),
    ...leadLinks(path, given, { before, older }),
    newer: {
      href: path,
      countHref: withQuery(routes.operatorNewLeads.path, newest === undefined ? {} : { after: cursorOf(newest) }),
    },
    bulkPath: routes.changeLeads.path,
    progresses: progresses.map((value) => ({ value, label: progressWords[value] })),
    here,
    exports: [
      { label: 'CSV', href: withQuery(routes.operatorLeadsCsv.path, given) },
      { label: 'JSON lines', href: withQuery(routes.operatorLeadsJsonl.path, given) },
    ],
  };
  return { kind: 'page', title: 'Leads', template: 'leads', data };
}

function cursorOf({ receivedMs, event }: StoredSubmission): string {
  return writeCursor({ received_ms: receivedMs, id: event.data.id });
}

/** Returns the number of leads that came after a cursor, for the script of the list. */
export async function newLeads({ reader }: ConsoleParts, { query }: PageRequest): Promise<Answer> {
  const after = parseCursor(query.getAll('after').at(-1) ?? '');
  return { kind: 'json', value: { count: await countNewer(reader, after, MAXIMUM_NEWER) } };
}

/** Returns a link for each progress and a link for undelivered leads, each with the number of leads. */
function chipsOf(
  path: string,
  given: Readonly<Record<string, string>>,
  counts: Awaited<ReturnType<typeof countChips>>,
) {
  const numberOf = (count: number) =>
    count > COUNTED_ROWS ? `${COUNTED_ROWS.toLocaleString('en')}+` : count.toLocaleString('en');
  const chip = (label: string, count: number, name: string, value: string) => {
    const isCurrent = given[name] === value;
    return { label, count: numberOf(count), isCurrent, href: isCurrent ? path : withQuery(path, { [name]: value }) };
  };
  return [
    ...progresses.map((value) => chip(progressWords[value], counts[value], 'progress', value)),
    chip('Undelivered', counts.undelivered, 'status', 'undelivered'),
  ];
}

/** Returns the row of a lead for a template. `query` is the query of the link, which keeps the filters. */
export function rowOf(parts: ConsoleParts, { times, now }: PageRequest, item: StoredSubmission, query = '') {
  const { event, receivedAt, status, progress } = item;
  const { data } = event;
  const { name, email } = data.fields;
  const [message] = valuesOf(data.form, data.fields, ['text']);
  return {
    id: data.id,
    href: pathOfPage('operatorLead', { id: data.id }) + query,
    title: name ?? email ?? titleCase(data.form),
    form: titleCase(data.form),
    facts: valuesOf(data.form, data.fields, ['code', 'choice', 'line']),
    snippet: message && [...message.slice(0, 2 * SNIPPET)].slice(0, SNIPPET).join(''),
    agent: data.client === null ? undefined : parts.credentials.labelOf(data.client),
    progress: progress === 'new' ? undefined : { value: progress, label: progressWords[progress] },
    status: status === 'delivered' ? undefined : { value: status, label: statusTitles[status] },
    received: times.brief(receivedAt, now),
  };
}

/** Returns the number of leads in words. */
export function totalWords({ isMore, count }: { isMore: boolean; count: number }): string {
  return isMore ? `More than ${COUNTED_ROWS.toLocaleString('en')} leads` : many(count, 'lead');
}
