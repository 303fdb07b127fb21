import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type Problem, problems } from '../../src/failures/catalogue.ts';

/** Every row of `docs/failures.md`, cell by cell, its head left out. */
function documented(): string[][] {
  const page = readFileSync(new URL('../../docs/failures.md', import.meta.url), 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));
  return rows.map((row) => row.slice(2, -2).split(' | '));
}

function rowOf([kind, { status, operations, section, error }]: [string, Problem]): string[] {
  const where = operations === 'any' ? 'any' : operations.join(', ') || 'no route';
  return [`\`${kind}\``, status === 0 ? 'other 4xx' : String(status), where, section, error];
}

describe('the failure catalogue (spec §7.1, §7.2)', () => {
  test('is the table in docs/failures.md, row by row, in both directions', () => {
    expect(documented()).toEqual(Object.entries<Problem>(problems).map(rowOf));
  });
});
