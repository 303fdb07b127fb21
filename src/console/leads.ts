/** The list of leads (beyond §7): newest first, filtered by its address, a page at a time. */
import { routes } from '../routes.ts';
import { COUNTED_ROWS, type KeptSubmission, submissionPage } from '../submissions/listing.ts';
import { formNames, origins, statuses, writeCursor } from '../submissions/listing-queries.ts';
import { leadFilters, withQuery } from './filters.ts';
import { formTitle, shortStatus } from './lead-words.ts';
import { pathOfPage, render } from './templates.ts';
import { type Times, timesIn } from './times.ts';
import type { Answer, ConsoleParts, Visit } from './visit.ts';

const PAGE_ROWS = 50;

/** Shows names and addresses: that it was looked at is written down. */
export async function leadsPage(parts: ConsoleParts, visit: Visit): Promise<Answer> {
  const times = timesIn(parts.settings.operatorTimeZone);
  const { filter, before, given } = leadFilters(visit.query, times);
  const { items, total, older } = await submissionPage(parts, filter, { before, limit: PAGE_ROWS });
  await visit.record('saw_leads', { count: items.length, filters: Object.keys(given) });

  const path = routes.operatorLeads.path;
  const main = render('leads', {
    path,
    given,
    isFiltered: Object.keys(given).length > 0,
    choices: {
      status: statuses.map((value) => ({ value, label: shortStatus[value] })),
      form: formNames.map((value) => ({ value, label: formTitle(value) })),
      origin: origins.map((value) => ({ value, label: value === 'agent' ? 'Agent' : 'Browser' })),
    },
    total: totalWords(total),
    zone: times.zone,
    rows: items.map((item) => rowOf(item, times)),
    older: older && withQuery(path, { ...given, cursor: writeCursor(older) }),
    newest: before && withQuery(path, given),
    exports: [
      { label: 'CSV', href: withQuery(routes.operatorLeadsCsv.path, given) },
      { label: 'JSON lines', href: withQuery(routes.operatorLeadsJsonl.path, given) },
    ],
  });
  return { kind: 'page', title: 'Leads', main };
}

/** What a list says of one lead; a template escapes it. */
export function rowOf({ event: { data }, receivedAt, status }: KeptSubmission, times: Times) {
  const { name, email, company } = data.fields;
  return {
    href: pathOfPage('operatorLead', { id: data.id }),
    title: name ?? email ?? formTitle(data.form),
    about: [formTitle(data.form), company, name === undefined ? undefined : email].filter(Boolean),
    from: data.client === null ? 'Browser' : `Agent ${data.client}`,
    status,
    statusWord: shortStatus[status],
    received: times.shown(receivedAt),
  };
}

/** How many there are, as a list says it. */
export function totalWords({ isMore, count }: { isMore: boolean; count: number }): string {
  if (isMore) return `More than ${COUNTED_ROWS.toLocaleString('en')} leads`;
  return count === 1 ? '1 lead' : `${count.toLocaleString('en')} leads`;
}
