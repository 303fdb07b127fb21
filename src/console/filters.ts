/** What a page of leads leaves out, as its address says it (beyond §7): a value that is none is ignored. */
import type { FormName } from '../forms/catalog.ts';
import {
  type Cursor,
  formNames,
  origins,
  parseCursor,
  type SubmissionFilter,
  statuses,
} from '../submissions/listing-queries.ts';
import { parseSearch } from '../submissions/search.ts';
import type { Times } from './times.ts';

export type LeadFilters = {
  filter: SubmissionFilter;
  before: Cursor | undefined;
  /** Those that are used, as they were typed, by their names; `cursor` is not among them. */
  given: Readonly<Partial<Record<FilterName, string>>>;
};

const filterNames = ['q', 'status', 'form', 'origin', 'since', 'until'] as const;
type FilterName = (typeof filterNames)[number];

/** More is no address, number or name. */
const SEARCH_LENGTH = 500;

/** Takes the query of an address; of a name that comes more than once the last one counts, as browsers send it. */
export function leadFilters(query: URLSearchParams, times: Pick<Times, 'parse'>): LeadFilters {
  const text = (name: string) => query.getAll(name).at(-1) ?? '';
  const one = <const T extends string>(name: string, values: readonly T[]): T | undefined =>
    values.find((value) => value === text(name));
  const q = text('q');
  const filter = {
    status: one('status', statuses),
    form: one<FormName>('form', formNames),
    origin: one('origin', origins),
    since: times.parse(text('since')),
    until: times.parse(text('until')),
    search: q.length > SEARCH_LENGTH ? undefined : parseSearch(q),
  };
  const used = { ...filter, q: filter.search };
  const given = filterNames.filter((name) => used[name] !== undefined);
  return {
    filter,
    before: parseCursor(text('cursor')),
    given: Object.fromEntries(given.map((name) => [name, text(name)])),
  };
}

/** The address of a page with these values in its query. */
export function withQuery(path: string, values: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(values).toString();
  return query === '' ? path : `${path}?${query}`;
}
