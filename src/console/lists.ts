/** Pages of lists, with 50 rows a page, newest first. The address of a page contains its filters and cursor. */

import { isIsoTime } from '../platform/clock.ts';
import { formNames, origins, progresses, statuses } from '../submissions/read/filter.ts';
import type { Cursor } from '../submissions/read/list.ts';
import { parseCursor, writeCursor } from '../submissions/read/list.ts';
import { parseSearch } from '../submissions/read/search.ts';
import type { PageRequest } from './page.ts';

/** Rows of a page. With more rows than `MAXIMUM_IDS` (`work.ts`), a change of all of them would be refused. */
export const PAGE_ROWS = 50;

/** Returns an address with these values in its query. */
export function withQuery(path: string, values: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(values).toString();
  return query === '' ? path : `${path}?${query}`;
}

/**
 * Reads one page of a list without filters. Returns its rows and the addresses of the newest and the next older page.
 * A time and a key order the list, and `isKey` checks the spelling of a key. A cursor contains the time and the key of
 * the last row before a page.
 */
export async function readPage<At extends string, Key extends string, Row extends Readonly<Record<At | Key, string>>>(
  { path, query }: PageRequest,
  { at, key, isKey }: { at: At; key: Key; isKey: (text: string) => boolean },
  read: (limit: number, before?: Record<At | Key, string>) => Promise<Row[]>,
) {
  const [time = '', name = ''] = (query.get('cursor') ?? '').split(/_(.*)/s);
  const isCursor = isIsoTime(time) && isKey(name);
  const before = isCursor ? ({ [at]: time, [key]: name } as Record<At | Key, string>) : undefined;
  const found = await read(PAGE_ROWS + 1, before);
  const rows = found.slice(0, PAGE_ROWS);
  const last = found.length > PAGE_ROWS ? rows.at(-1) : undefined;
  return { rows, newest: before && path, older: last && withQuery(path, { cursor: `${last[at]}_${last[key]}` }) };
}

/** Returns the addresses of the newest and the next older page of leads, with the filters of this page. */
export function leadLinks(
  path: string,
  given: Readonly<Record<string, string>>,
  { before, older }: { before: Cursor | undefined; older: Cursor | undefined },
) {
  return {
    newest: before && withQuery(path, given),
    older: older && withQuery(path, { ...given, cursor: writeCursor(older) }),
  };
}

const filterNames = ['q', 'progress', 'status', 'form', 'origin', 'agent', 'since', 'until'] as const;

/**
 * Returns the filters of a list of leads (reference §12.7), and the valid filters as they were typed (`given`). Invalid
 * values are ignored. If a name is repeated, its last value counts. `clients` have the labels that a search covers.
 */
export function leadFilters(
  { query, times }: Pick<PageRequest, 'query'> & { times: Pick<PageRequest['times'], 'parse'> },
  clients: Parameters<typeof parseSearch>[1],
) {
  const text = (name: string) => query.getAll(name).at(-1) ?? '';
  const one = <const T extends string>(name: string, values: readonly T[]): T | undefined =>
    values.find((value) => value === text(name));
  const filter = {
    status: one('status', statuses),
    form: one('form', formNames),
    origin: one('origin', origins),
    progress: one('progress', progresses),
    client: text('agent') === '' || text('agent').includes('\0') ? undefined : text('agent'),
    since: times.parse(text('since')),
    until: times.parse(text('until')),
    search: parseSearch(text('q'), clients),
  };
  const used = { ...filter, q: filter.search, agent: filter.client };
  const given = filterNames.filter((name) => used[name] !== undefined);
  return {
    filter: { ...filter, onlyLeads: filter.form === undefined, withoutSpam: filter.progress === undefined },
    before: parseCursor(text('cursor')),
    given: Object.fromEntries(given.map((name) => [name, text(name)])),
  };
}
