/** Exports as files (reference §12.9). The audit gets the count and the names of the filters. */
import { jsonLineOf, submissionFormats } from '../submissions/read/export.ts';
import { type StoredSubmission, submissionPages } from '../submissions/read/list.ts';
import { type About, type AuditAction, recordCount } from './audit.ts';
import { leadFilters } from './lists.ts';
import type { Answer, ConsoleParts, PageRequest } from './page.ts';

type File = { name: string; type: string };

export const CSV = 'text/csv; charset=utf-8';
export const JSON_LINES = 'application/jsonl; charset=utf-8';

export function leadsCsv(parts: ConsoleParts, request: PageRequest): Promise<Answer> {
  const { head, csv } = submissionFormats(request.times.zone);
  return exportLeads(parts, request, { name: 'leads.csv', type: CSV }, head, csv);
}

export function leadsJsonl(parts: ConsoleParts, request: PageRequest): Promise<Answer> {
  return exportLeads(parts, request, { name: 'leads.jsonl', type: JSON_LINES }, '', jsonLineOf);
}

/** Returns the leads of the list with the same filters, the newest first. */
function exportLeads(
  parts: ConsoleParts,
  request: PageRequest,
  file: File,
  head: string,
  write: (item: StoredSubmission) => string,
): Promise<Answer> {
  const { filter, given } = leadFilters(request, parts.credentials.clients());
  const chunks = chunksOf(head, submissionPages(parts.reader, filter, 'desc'), write);
  return recordedFile(parts, request, file, 'exported_leads', { filters: Object.keys(given) }, chunks);
}

/** Yields the text of a file: its head, then each page of rows. */
export async function* chunksOf<Row>(head: string, pages: AsyncIterable<readonly Row[]>, write: (row: Row) => string) {
  yield { count: 0, lines: head };
  for await (const page of pages) yield { count: page.length, lines: page.map(write).join('') };
}

/**
 * Returns a download. The download's audit entry is written before the first row is sent, and gets the row count at the
 * end.
 */
export async function recordedFile(
  { storage }: ConsoleParts,
  { record }: PageRequest,
  file: File,
  what: AuditAction,
  about: About,
  chunks: AsyncIterable<{ count: number; lines: string }>,
): Promise<Answer> {
  const entry = await record(what, about);
  async function* text() {
    let count = 0;
    try {
      for await (const chunk of chunks) {
        count += chunk.count;
        yield chunk.lines;
      }
    } finally {
      await recordCount(storage, entry, { ...about, count });
    }
  }
  return { kind: 'file', ...file, text: text() };
}
