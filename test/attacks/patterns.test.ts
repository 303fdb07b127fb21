/**
 * No text makes a pattern slow (ASVS 1.3.12). The test applies pumps of 2,000 characters to every literal of `src/`.
 * For the proof over all texts, see `slow/patterns.test.ts`.
 */
import { SyntaxKind } from 'typescript/unstable/ast';
import { describe, expect, test } from 'vitest';
import { expressionsOfSource, nodesOfSource } from '../support/syntax.ts';

const LENGTH = 2_000;
const PATIENCE_MS = 5;

const expressions = expressionsOfSource();

/** Returns characters that a pattern mentions, and some that it does not. */
function alphabetOf({ source }: RegExp): string[] {
  const literal = source
    .replace(/\\[pPu]\{[^}]*\}|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}/g, ' ')
    .replace(/\\[tnr]/g, (escaped) => ({ '\\t': '\t', '\\n': '\n' })[escaped] ?? '\r')
    .replace(/\\[dDwWsSbB]/g, '0a ');
  return [...new Set([...literal, ...'a0 \t\n<>"/;,=.-@_A\u00e9\u200b\ufeff\u{1f58c}'])];
}

/** Yields one character repeated, two alternating, and the pattern's own text, each with an end that matches nothing. */
function* pumpsFor(expression: RegExp): Generator<string> {
  const alphabet = alphabetOf(expression);
  const ends = ['', '\0', '!\n'];
  for (const end of ends) {
    for (const character of alphabet) {
      yield character.repeat(LENGTH) + end;
      yield `${alphabet[0] ?? 'a'}${character.repeat(LENGTH)}${end}`;
    }
    for (const [n, character] of alphabet.entries()) {
      const other = alphabet[(n * 7 + 3) % alphabet.length] ?? 'a';
      yield (character + other).repeat(LENGTH / 2) + end;
    }
    const own = expression.source.replace(/[\\^$*+?()[\]{}|]/g, '');
    if (own !== '') yield own.repeat(Math.ceil(LENGTH / own.length)) + end;
  }
}

/** Returns the shortest of three runs. The others include other work of the machine. */
function elapsed(expression: RegExp, text: string): number {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 3 && least >= PATIENCE_MS; run += 1) {
    expression.lastIndex = 0;
    const startedAt = performance.now();
    text.replace(expression, '');
    least = Math.min(least, performance.now() - startedAt);
  }
  return least;
}

describe('patterns of src', () => {
  test('are all found by this test, and only one is built at run time', () => {
    expect(expressions.length).toBeGreaterThan(90);
    const made = nodesOfSource(SyntaxKind.NewExpression, SyntaxKind.CallExpression).filter(({ text }) =>
      /^(new )?RegExp\(/.test(text),
    );
    expect(made.map(({ path }) => path)).toEqual(['src/credentials/tokens.ts']);
  });

  test.each(expressions)('match 2,000 characters of any repeated text within 5 ms: $path $text', ({ expression }) => {
    for (const pump of pumpsFor(expression)) {
      const took = elapsed(expression, pump);
      if (took >= PATIENCE_MS) {
        expect.fail(`${took} ms for ${JSON.stringify(pump.slice(0, 20))}… (${pump.length})`);
      }
    }
  });

  test('exceed the 5 ms if their time is exponential', () => {
    const explosive = /^(a+)+$/;
    expect(elapsed(explosive, `${'a'.repeat(22)}!`)).toBeGreaterThan(PATIENCE_MS);
  });
});
