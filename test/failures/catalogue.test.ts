import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type Problem, problems } from '../../src/failures/catalogue.ts';
import type { Refusal } from '../../src/failures/refusals.ts';
import { renderProblem } from '../../src/failures/render.ts';

/** Every row of `docs/failures.md`, cell by cell, its head left out. */
function documented(): string[][] {
  const page = readFileSync(new URL('../../docs/failures.md', import.meta.url), 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));
  return rows.map((row) => row.slice(2, -2).replace(/ \|$/, '').split(' | '));
}

function rowOf([kind, problem]: [string, Problem]): string[] {
  const { status, operations, section, error, next } = problem;
  const where = operations === 'any' ? 'any' : operations.join(', ') || 'no route';
  const told = status === 0 ? 'other 4xx' : String(status);
  const then = next.tool ?? next.page;
  return [`\`${kind}\``, told, where, section, error, ...(then ? [then] : [])];
}

describe('the failure catalogue (spec §7.1, §7.2)', () => {
  test('is the table in docs/failures.md, row by row, in both directions', () => {
    expect(documented()).toEqual(Object.entries<Problem>(problems).map(rowOf));
  });

  test('names no wait that it does not fill in', () => {
    for (const { error, next } of Object.values<Problem>(problems)) {
      for (const words of [error, next.tool ?? '', next.page ?? '']) {
        expect(words.replace('{wait}', '')).not.toMatch(/[{}]|Retry-After/);
      }
    }
  });
});

describe('a model reads the body, not the headers: its sentence says the seconds of Retry-After', () => {
  const receipt = {};
  test.each<[Refusal, string]>([
    [{ kind: 'rateLimited', retryAfterSeconds: 30 }, '30 seconds'],
    [{ kind: 'rateLimited', retryAfterSeconds: 1 }, '1 second'],
    [{ kind: 'upstreamRateLimited', retryAfterSeconds: 86_400, receipt }, '86400 seconds'],
    [{ kind: 'inProgress' }, '1 second'],
  ])('%o', (refusal, words) => {
    const { headers, body } = renderProblem(refusal, 'agent');
    expect(body.error).toMatch(new RegExp(`Wait ${words}[,.]`));
    expect(headers['retry-after']).toBe(words.split(' ')[0]);
    // Spec §7.1 fixes the members of these bodies.
    expect(body).not.toHaveProperty('retry_after');
  });
});
