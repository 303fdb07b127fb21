/** The audit page (reference §12.12), with every operator who is signed in. */

import { isId } from '../platform/random.ts';
import { lastScrubDueAt } from '../storage/scrubbing.ts';
import { type AuditEntry, latestEntries } from './audit.ts';
import { readPage } from './lists.ts';
import type { Answer, ConsoleParts, PageRequest } from './page.ts';
import { pathOfPage } from './templates.ts';
import type { Times } from './times.ts';

const ORDER = { at: 'at', key: 'id', isKey: isId } as const;

export async function auditPage({ storage, sessions }: ConsoleParts, request: PageRequest): Promise<Answer> {
  const { session, now, times } = request;
  const { rows, ...links } = await readPage(request, ORDER, (limit, before) => latestEntries(storage, limit, before));
  const dueAt = await lastScrubDueAt(storage);
  const data = {
    ...links,
    scrubbedAt: dueAt && dueAt > now ? times.shown(dueAt) : undefined,
    rows: rows.map((entry) => rowOf(entry, times)),
    sessions: (await sessions.active()).map((one) => ({
      name: one.name,
      isThis: one.digest === session.digest,
      since: times.shown(one.signed_in_at),
      seen: times.shown(one.last_seen_at),
    })),
  };
  return { kind: 'page', title: 'Audit', template: 'audit', data };
}

function rowOf({ at, name, what, about }: AuditEntry, times: Times) {
  const { ids = [], count, filters = [], progress, client, credentials = [], host } = about;
  const links = ids.map((id) => ({ id, href: pathOfPage('operatorLead', { id }) }));
  const words = progress === undefined ? what : `${what} as ${progress}`;
  return {
    at: times.shown(at),
    name,
    what: words,
    count,
    filters: filters.join(', '),
    links,
    client,
    credentials,
    host,
  };
}
