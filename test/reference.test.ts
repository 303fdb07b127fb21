import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

/** Every file that may cite the reference. */
const FILES = [
  '{bench,bin,chaos,content,deploy,e2e,examples,lint,sim,src,test}/**/*.{ts,js,cjs,mjs,md,yaml,yml,sh,css,eta}',
  'docs/**/*.md',
  '*.md',
];
/** Matches `reference §2.4`, `reference §2.4, §3` and `reference §2.4 rule 3`, also across a line break in a comment. */
const CITATION =
  /[rR]eference(?:\s|\n \*)+(§\d+(?:\.\d+)?(?:(?:,| and)(?:\s|\n \*)+§\d+(?:\.\d+)?)*)(?:,? rule (\d+))?/g;
const WITHIN = /§\d+(?:\.\d+)?/g;

const chapters = globSync('docs/reference/[0-9]*.md').map((path) => readFileSync(path, 'utf8'));
const files = FILES.flatMap((pattern) => globSync(pattern)).filter(
  (path) => !path.includes('node_modules') && path !== 'test/reference.test.ts',
);
/** Text of each chapter and section, by number. */
const sections = new Map(
  chapters.flatMap((chapter) =>
    chapter.split(/^(?=##? \d)/m).map((text) => [/^##? (\d+(?:\.\d+)?)/.exec(text)?.[1] ?? '', text] as const),
  ),
);

function unresolvedIn(path: string): string[] {
  const text = readFileSync(path, 'utf8');
  const cited = [...text.matchAll(CITATION)].flatMap(([, numbers = '', rule]) =>
    (numbers.match(WITHIN) ?? []).map((number) => ({ number: number.slice(1), rule })),
  );
  // The reference and these lists cite a section by its number alone.
  const within = /^(docs\/reference\/|docs\/failures\.md|src\/failures\/|src\/routes\.ts)/.test(path)
    ? (text.replace(/RFC \d+ §[\d.]+/g, '').match(WITHIN) ?? []).map((number) => ({
        number: number.slice(1),
        rule: undefined,
      }))
    : [];
  return [...cited, ...within]
    .filter(({ number, rule }) => {
      const section = sections.get(number);
      return section === undefined || (rule !== undefined && !section.includes(`\n${rule}. `));
    })
    .map(({ number, rule }) => `${path}: §${number}${rule === undefined ? '' : ` rule ${rule}`}`);
}

describe('docs/reference', () => {
  test('has every section that code, tests or documents cite', () => {
    expect(files.length).toBeGreaterThan(500);
    expect(files.flatMap(unresolvedIn)).toEqual([]);
  });

  test('is the only document that is cited by section', () => {
    const elsewhere = /(?:^|[^-\w])(?:spec|contract|beyond|next) §/i;
    expect(files.filter((path) => elsewhere.test(readFileSync(path, 'utf8')))).toEqual([]);
  });

  test('has a link to each chapter in its index', () => {
    const index = readFileSync('docs/reference/README.md', 'utf8');
    const numbers = chapters.map((chapter) => /^# (.+)/.exec(chapter)?.[1] ?? '');
    expect(numbers.filter((title) => !index.includes(`[${title}](`))).toEqual([]);
  });
});
