import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type Problem, problems } from '../../src/failures/catalogue.ts';
import { codeOf } from '../../src/failures/codes.ts';
import type { Refusal } from '../../src/failures/refusals.ts';
import { renderProblem } from '../../src/failures/render.ts';

/** Returns the cells of all rows of `docs/failures.md`, without the head. */
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
  return [
    `\`${kind}\``,
    `\`${codeOf(kind as Refusal['kind'])}\``,
    told,
    where,
    section,
    error,
    ...(then ? [then] : []),
  ];
}

describe('failure catalogue (reference §18)', () => {
  test('equals the table in docs/failures.md', () => {
    expect(documented()).toEqual(Object.entries<Problem>(problems).map(rowOf));
  });

  test('has a code of its own for each kind, in snake case', () => {
    const codes = (Object.keys(problems) as Refusal['kind'][]).map(codeOf);
    expect(new Set(codes).size).toBe(codes.length);
    for (const code of codes) expect(code).toMatch(/^[a-z0-9]+(?:_[a-z0-9]+)*$/);
  });

  test.each(Object.entries<Problem>(problems).filter(([, { errorCode }]) => errorCode !== undefined))(
    'gives %s the code that `error` has, except where two kinds share it',
    (kind, { errorCode }) => {
      const own = codeOf(kind as Refusal['kind']);
      expect(own === errorCode || (kind === 'confirmationPending' && own === 'confirmation_pending')).toBe(true);
    },
  );

  test('has no placeholder except {wait} in any text', () => {
    for (const { error, next } of Object.values<Problem>(problems)) {
      for (const words of [error, next.tool ?? '', next.page ?? '']) {
        expect(words.replace('{wait}', '')).not.toMatch(/[{}]|Retry-After/);
      }
    }
  });
});

describe('error sentences with a wait, for models that see no headers', () => {
  const receipt = {};
  test.each<[Refusal, string]>([
    [{ kind: 'rateLimited', retryAfterSeconds: 30 }, '30 seconds'],
    [{ kind: 'rateLimited', retryAfterSeconds: 1 }, '1 second'],
    [{ kind: 'upstreamRateLimited', retryAfterSeconds: 86_400, receipt }, '86400 seconds'],
    [{ kind: 'inProgress' }, '1 second'],
  ])('contain the same number of seconds as Retry-After: %o', (refusal, words) => {
    const { headers, body } = renderProblem(refusal, 'agent');
    expect(body.error).toMatch(new RegExp(`Wait ${words}[,.]`));
    expect(headers['retry-after']).toBe(words.split(' ')[0]);
    // Reference §18.2 defines the members of these bodies.
    expect(body).not.toHaveProperty('retry_after');
  });
});
