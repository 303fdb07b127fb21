/** The list of leads (reference §12.7). */
import { routes } from '../routes.ts';
import {
  COUNTED_ROWS,
  formNames,
  origins,
  type StoredSubmission,
  statuses,
  submissionPage,
} from '../submissions/read/list.ts';
import { many, titleCase } from './lead-words.ts';
import { leadFilters, leadLinks, PAGE_ROWS, withQuery } from './lists.ts';
import type { Answer, ConsoleParts, PageRequest } from './page.ts';
import { pathOfPage } from './templates.ts';
import type { Times } from './times.ts';

export async function leadsPage(parts: ConsoleParts, request: PageRequest): Promise<Answer> {
  const { path, times } = request;
  const { filter, before, given } = leadFilters(request);
  const { items, total, older } = await submissionPage(parts.reader, filter, { before, limit: PAGE_ROWS });
  await request.record('saw_leads', { count: items.length, filters: Object.keys(given) });

  const data = {
    given,
    isFiltered: Object.keys(given).length > 0,
    choices: {
      status: statuses.map((value) => ({ value, label: titleCase(value) })),
      form: formNames.map((value) => ({ value, label: titleCase(value) })),
      origin: origins.map((value) => ({ value, label: value === 'agent' ? 'Agent' : 'Browser' })),
    },
    total: totalWords(total),
    rows: items.map((item) => rowOf(item, times)),
    ...leadLinks(path, given, { before, older }),
    exports: [
      { label: 'CSV', href: withQuery(routes.operatorLeadsCsv.path, given) },
      { label: 'JSON lines', href: withQuery(routes.operatorLeadsJsonl.path, given) },
    ],
  };
  return { kind: 'page', title: 'Leads', template: 'leads', data };
}

/** Returns the row of a lead for a template. */
export function rowOf({ event: { data }, receivedAt, status }: StoredSubmission, times: Times) {
  const { name, email, company } = data.fields;
  return {
    href: pathOfPage('operatorLead', { id: data.id }),
    title: name ?? email ?? titleCase(data.form),
    about: [titleCase(data.form), company, name === undefined ? undefined : email].filter(Boolean),
    from: data.client === null ? 'Browser' : `Agent ${data.client}`,
    status,
    statusWord: titleCase(status),
    received: times.shown(receivedAt),
  };
}

/** Returns the number of leads in words. */
export function totalWords({ isMore, count }: { isMore: boolean; count: number }): string {
  return isMore ? `More than ${COUNTED_ROWS.toLocaleString('en')} leads` : many(count, 'lead');
}
