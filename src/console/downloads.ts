/** Leads as a file (reference §12.9). The audit gets the count and the names of the filters. */
import { csvHeader, csvRecordOf, jsonLineOf } from '../submissions/read/export.ts';
import { type StoredSubmission, submissionPages } from '../submissions/read/list.ts';
import { type About, type AuditAction, recordCount } from './audit.ts';
import { leadFilters } from './lists.ts';
import type { Answer, ConsoleParts, PageRequest } from './page.ts';

type File = { name: string; type: string };

/** Returns the leads as CSV that is safe to open in a spreadsheet. */
export function leadsCsv(parts: ConsoleParts, request: PageRequest): Promise<Answer> {
  const file = { name: 'leads.csv', type: 'text/csv; charset=utf-8' };
  return exportLeads(parts, request, file, csvHeader, csvRecordOf);
}

export function leadsJsonl(parts: ConsoleParts, request: PageRequest): Promise<Answer> {
  return exportLeads(parts, request, { name: 'leads.jsonl', type: JSON_LINES }, '', jsonLineOf);
}

export const JSON_LINES = 'application/jsonl; charset=utf-8';

function exportLeads(
  parts: ConsoleParts,
  request: PageRequest,
  file: File,
  head: string,
  write: (item: StoredSubmission) => string,
): Promise<Answer> {
  const { filter, given } = leadFilters(request, parts.credentials.clients());
  async function* chunks() {
    if (head !== '') yield { count: 0, lines: head };
    for await (const page of submissionPages(parts.reader, filter)) {
      yield { count: page.length, lines: page.map(write).join('') };
    }
  }
  return recordedFile(parts, request, file, 'exported_leads', { filters: Object.keys(given) }, chunks());
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
