/** Who did what, and who looked at what (beyond §7). */
import { routes } from '../routes.ts';
import { type AuditCursor, type AuditEntry, latestEntries } from './audit.ts';
import { withQuery } from './filters.ts';
import { pathOfPage, render } from './templates.ts';
import { type Times, timesIn } from './times.ts';
import type { Answer, ConsoleParts, Visit } from './visit.ts';

const PAGE_ROWS = 50;
const CURSOR =
  /^(\d{4}-\d{2}-\d{2}T[\d:.]{12}Z)_([\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12})$/;

export async function auditPage(
  { storage, settings, sessions }: ConsoleParts,
  { query, session }: Visit,
): Promise<Answer> {
  const before = cursorOf(query.get('cursor') ?? '');
  const found = await latestEntries(storage, PAGE_ROWS + 1, before);
  const entries = found.slice(0, PAGE_ROWS);
  const last = found.length > PAGE_ROWS ? entries.at(-1) : undefined;
  const times = timesIn(settings.operatorTimeZone);
  const { path } = routes.operatorAudit;
  const main = render('audit', {
    rows: entries.map((entry) => rowOf(entry, times)),
    zone: times.zone,
    sessions: (await sessions.active()).map((one) => ({
      name: one.name,
      isThis: one.digest === session.digest,
      since: times.shown(one.signed_in_at),
      seen: times.shown(one.last_seen_at),
    })),
    newest: before && path,
    older: last && withQuery(path, { cursor: `${last.at}_${last.id}` }),
  });
  return { kind: 'page', title: 'Audit', main };
}

function rowOf({ at, name, what, about }: AuditEntry, times: Times) {
  const { ids = [], count, filters = [] } = about;
  return {
    at: times.shown(at),
    name,
    what,
    count,
    filters: filters.join(', '),
    links: ids.map((id) => ({ id, href: pathOfPage('operatorLead', { id }) })),
  };
}

function cursorOf(text: string): AuditCursor | undefined {
  const [, at, id] = CURSOR.exec(text) ?? [];
  return at === undefined || id === undefined ? undefined : { at, id };
}
