/** Every pattern of `src/` is linear in its text, shown over all texts by `recheck` (ASVS 1.3.12). */
import { checkSync } from 'recheck';
import { describe, expect, test } from 'vitest';
import { expressionsOfSource } from '../../support/syntax.ts';

// Its JavaScript alone: neither the program nor the Java archive that come with it.
process.env.RECHECK_SYNC_BACKEND = 'pure';

/** Patterns that are not linear, and why nobody outside can give them a text. */
const TRUSTED_TEXT: Record<string, string> = {
  'src/site/overlay.ts': 'the stylesheet of the operator, read once at the start',
};

describe('expensive patterns, by proof', () => {
  const expressions = new Map(
    expressionsOfSource()
      .filter(({ path }) => !(path in TRUSTED_TEXT))
      .map((each) => [each.text, each]),
  );

  test.each([...expressions.values()])('$path $text is linear', ({ expression }) => {
    // A second or two; a proof that runs out of time says nothing.
    const judged = checkSync(expression.source, expression.flags, { timeout: 40_000 });
    expect(judged).toMatchObject({
      status: 'safe',
      complexity: { type: expect.stringMatching(/^(safe|linear)$/) },
    });
  });

  test('a pattern that is not is seen', () => {
    expect(checkSync('^(a+)+$', '').status).toBe('vulnerable');
    expect(checkSync(String.raw`\s+$`, '').status).toBe('vulnerable');
  });
});
