/** Lists every page of the operator's console, with each filter and each kind of search (reference §12.5). */
import { progresses } from '../src/submissions/read/filter.ts';
import { consolePages } from '../test/console/pages.ts';
import { type Filled, FLOOD, idAt, MONTH_MS, numberOf } from './console-rows.ts';

/** Placeholder in a path. Each load replaces it by a different number. */
export const LOAD = 'LOAD';

/** Returns the paths by name. */
export function pagesOf(filled: Filled): Record<string, string> {
  const number = Math.floor(filled.count / 2000) * 1000 + 75;
  const ids = {
    some: idAt(number, filled),
    agents: idAt(number - 5, filled),
    flood: idAt(7, filled),
  };
  const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
  const at = filled.began + MONTH_MS / 2;
  const list = (query: Record<string, string> = {}) => `/operator/leads?${new URLSearchParams(query)}`;
  const some = { since: day(20), until: day(10) };
  const filters = [
    { status: 'sending' },
    { status: 'delivered' },
    { status: 'waiting' },
    { status: 'undelivered' },
    { status: 'dismissed' },
    { form: 'contact' },
    { form: 'newsletter' },
    { origin: 'browser' },
    { origin: 'agent' },
    { agent: 'acme-assistant' },
    ...progresses.map((progress) => ({ progress })),
    { status: 'undelivered', form: 'contact', origin: 'browser' },
    some,
    { ...some, status: 'delivered', origin: 'browser' },
  ];
  const searches = [
    idAt(number, filled),
    `+1 (555) ${numberOf(number)}`,
    `person${numberOf(number)}@example.com`,
    `person${numberOf(number)}@`,
    FLOOD,
    'person00',
    'person',
    'person@',
    `needle${filled.count - number}`,
    'terrace',
    `terrace ${LOAD}`,
    `nowhere${LOAD}`,
    `+1(999)${LOAD}`,
  ];
  const wordFilters = [
    { status: 'delivered' },
    { status: 'dismissed' },
    { status: 'undelivered' },
    { form: 'contact' },
    { origin: 'browser' },
    { origin: 'agent' },
    { agent: 'acme-assistant' },
    { progress: 'won' },
    some,
    { ...some, status: 'delivered', form: 'contact' },
  ];
  const words = (query: Record<string, string>) => Object.values(query).join(', ');
  return {
    ...Object.fromEntries(consolePages.map((path) => [path.slice('/operator/'.length) || 'overview', path])),
    'leads, in the middle': list({ cursor: `${at}_${idAt(0, filled)}` }),
    ...Object.fromEntries(filters.map((query) => [`leads, ${words(query)}`, list(query)])),
    ...Object.fromEntries(searches.map((q) => [`leads, “${q.slice(0, 24)}”`, list({ q })])),
    ...Object.fromEntries(
      wordFilters.map((query) => [`leads, “nowhere”, ${words(query)}`, list({ q: `nowhere${LOAD}`, ...query })]),
    ),
    'leads, “person00”, delivered': list({ q: 'person00', status: 'delivered' }),
    'leads, “person00”, a form': list({ q: 'person00', form: 'contact' }),
    'leads, “terrace”, undelivered': list({ q: 'terrace', status: 'undelivered' }),
    'leads, “terrace”, dismissed': list({ q: 'terrace', status: 'dismissed' }),
    'leads, “needle1”, the last page': list({
      q: 'needle12',
      cursor: `${filled.began + 1}_${idAt(0, filled)}`,
    }),
    'the number of new leads': `/operator/leads/new?after=${at}_${idAt(0, filled)}`,
    'a lead': `/operator/leads/${ids.some}`,
    'a lead of an agent’s': `/operator/leads/${ids.agents}`,
    'a person': `/operator/people/${ids.some}`,
    'a person of one lead in twenty': `/operator/people/${ids.flood}`,
    'subscribers, pending': '/operator/subscribers?status=pending',
    'subscribers, “reader000”': '/operator/subscribers?q=reader000',
    'subscribers, “reader000”, left': '/operator/subscribers?q=reader000&status=unsubscribed',
  };
}
