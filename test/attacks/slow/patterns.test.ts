/** Proof by `recheck` that every pattern of `src/` takes linear time for all texts (ASVS 1.3.12). */
import { checkSync } from 'recheck';
import { describe, expect, test } from 'vitest';
import { expressionsOfSource } from '../../support/syntax.ts';

// Use only the JavaScript of recheck, without its program and its Java archive.
process.env.RECHECK_SYNC_BACKEND = 'pure';

/** Patterns that are not linear, with the reason why no stranger supplies their text. */
const TRUSTED_TEXT: Record<string, string> = {
  'src/site/content-overrides.ts': 'the stylesheet of the operator, read once at the start',
};

describe('patterns of src, by proof', () => {
  const expressions = new Map(
    expressionsOfSource()
      .filter(({ path }) => !(path in TRUSTED_TEXT))
      .map((each) => [each.text, each]),
  );

  test.each([...expressions.values()])('match in linear time: $path $text', ({ expression }) => {
    // A proof takes a second or two. One that times out proves nothing.
    const judged = checkSync(expression.source, expression.flags, { timeout: 40_000 });
    expect(judged).toMatchObject({
      status: 'safe',
      complexity: { type: expect.stringMatching(/^(safe|linear)$/) },
    });
  });

  test('the checker detects a pattern that is not linear', () => {
    expect(checkSync('^(a+)+$', '').status).toBe('vulnerable');
    expect(checkSync(String.raw`\s+$`, '').status).toBe('vulnerable');
  });
});
