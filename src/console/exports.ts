/** The leads as a file (beyond §7). What is written down of it is its count and the names of its filters. */

import { type KeptSubmission, submissionPages } from '../submissions/listing.ts';
import { csvHeader, csvRecordOf, jsonLineOf } from '../submissions/records.ts';
import { recordCount } from './audit.ts';
import { leadFilters } from './filters.ts';
import { timesIn } from './times.ts';
import type { Answer, ConsoleParts, Visit } from './visit.ts';

/** Safe to open in a spreadsheet. */
export function leadsCsv(parts: ConsoleParts, visit: Visit): Promise<Answer> {
  return exportOf(parts, visit, {
    name: 'leads.csv',
    type: 'text/csv; charset=utf-8',
    head: csvHeader,
    write: csvRecordOf,
  });
}

export function leadsJsonl(parts: ConsoleParts, visit: Visit): Promise<Answer> {
  return exportOf(parts, visit, {
    name: 'leads.jsonl',
    type: 'application/jsonl; charset=utf-8',
    head: '',
    write: jsonLineOf,
  });
}

type Format = { name: string; type: string; head: string; write(item: KeptSubmission): string };

async function exportOf(
  parts: ConsoleParts,
  { query, record }: Visit,
  { name, type, head, write }: Format,
): Promise<Answer> {
  const { filter, given } = leadFilters(query, timesIn(parts.settings.operatorTimeZone));
  const filters = Object.keys(given);
  // Before the first row leaves; how many they were is known at the end.
  const entry = await record('exported_leads', { filters });

  async function* text() {
    let count = 0;
    try {
      if (head !== '') yield head;
      for await (const page of submissionPages(parts, filter)) {
        count += page.length;
        yield page.map(write).join('');
      }
    } finally {
      await recordCount(parts.storage, entry, { filters, count });
    }
  }
  return { kind: 'file', name, type, text: text() };
}
