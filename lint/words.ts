/**
 * Counts what makes text hard to read, in comments and documents. `lint/words.json` has the counts of the last commit, and
 * `npm run check` fails if one rises. `node lint/words.ts --update` lowers them. `--list RULE` prints the sentences.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';

const RECORD = 'lint/words.json';
const LONGEST_SENTENCE = 30;

/** Documents that people read. CHANGELOG and license texts do not count. */
const DOCUMENTS = ['*.md', 'docs/**/*.md', 'content/*.md', 'examples/**/*.md', 'deploy/**/*.md'];
const SOURCES = ['src/**/*.{ts,js}', '{sim,chaos,bench,lint,bin,deploy,examples}/**/*.{ts,js,cjs}', 'vitest.config.ts'];
const LEFT_OUT = /CHANGELOG|node_modules|\.d\.ts$/;

const OPENING = /^(?:What|Who|Whoever|Whatever|Of)\b/;
/** Verbs that had a private meaning in this project. A standard term is clearer, such as `stored` for `kept`. */
const PRIVATE_VERBS =
  /\b(?:kept|stand(?:s|ing)?|stood|press(?:es|ed|ing)?|taken|asked|told|known|look(?:s|ed|ing)?|left|rest|heed(?:s|ed)?)\b/gi;

type Text = { file: string; kind: 'comment' | 'document'; sentence: string };

const texts: Text[] = [
  ...globSync(SOURCES)
    .filter((file) => !LEFT_OUT.test(file))
    .flatMap((file) =>
      commentsOf(readFileSync(file, 'utf8')).map((text) => ({ file, kind: 'comment' as const, text })),
    ),
  ...globSync(DOCUMENTS)
    .filter((file) => !LEFT_OUT.test(file))
    .flatMap((file) => proseOf(readFileSync(file, 'utf8')).map((text) => ({ file, kind: 'document' as const, text }))),
].flatMap(({ file, kind, text }) => sentencesOf(text).map((sentence) => ({ file, kind, sentence })));

const rules: Record<string, (text: Text) => number> = {
  opening: ({ sentence }) => Number(OPENING.test(sentence)),
  semicolon: ({ sentence }) => withoutCode(sentence).split(';').length - 1,
  'private verb': ({ sentence }) => [...withoutCode(sentence).matchAll(PRIVATE_VERBS)].length,
  'long sentence': ({ sentence }) => Number(wordsOf(withoutQuotes(sentence)).length > LONGEST_SENTENCE),
};

const counts = Object.fromEntries(
  (['comment', 'document'] as const).flatMap((kind) =>
    Object.entries(rules).map(([rule, count]) => {
      const total = texts.filter((text) => text.kind === kind).reduce((sum, text) => sum + count(text), 0);
      return [`${kind}: ${rule}`, total];
    }),
  ),
);

const [option, value = ''] = process.argv.slice(2);
if (option === '--list') {
  for (const text of texts) {
    if ((rules[value]?.(text) ?? 0) > 0) console.log(`${text.file}: ${text.sentence}`);
  }
} else if (option === '--update') {
  writeFileSync(RECORD, `${JSON.stringify(counts, undefined, 2)}\n`);
  const words = texts.reduce((sum, { sentence }) => sum + wordsOf(sentence).length, 0);
  console.log(`${texts.length} sentences, ${words} words`, counts);
} else {
  const recorded: Record<string, number> = JSON.parse(readFileSync(RECORD, 'utf8'));
  for (const [name, count] of Object.entries(counts)) {
    const most = recorded[name] ?? 0;
    if (count <= most) continue;
    console.error(`${name}: ${count}, at most ${most} (node lint/words.ts --list '${name.split(': ')[1]}')`);
    process.exitCode = 1;
  }
}

/** Returns the comments of a source text. Line comments that follow one another are one comment. */
function commentsOf(source: string): string[] {
  const blocks = [...source.matchAll(/^[ \t]*\/\*\*?([\s\S]*?)\*\//gm)].map(([, text = '']) =>
    text.replace(/^[ \t]*\* ?/gm, ''),
  );
  const lines = [...source.matchAll(/(?:^[ \t]*\/\/.*\n?)+/gm)].map(([text]) => text.replace(/^[ \t]*\/\/ ?/gm, ''));
  return [...blocks, ...lines].flatMap((text) => text.split(/\n\s*(?:\n|(?=\d+\. |- ))/));
}

/** Returns the paragraphs, list items and table cells of a Markdown text, without code. */
function proseOf(markdown: string): string[] {
  return markdown
    .replace(/^---\n[\s\S]*?\n---\n/, '')
    .replace(/^ *```[\s\S]*?^ *```/gm, '')
    .split(/\n\s*\n|\n(?=\s*(?:[-*] |\d+\. |#))|\|/)
    .filter((text) => !/^\s*[-:| ]*$/.test(text));
}

function sentencesOf(text: string): string[] {
  return text
    .replace(/\s+/g, ' ')
    .replace(/^\s*(?:[-*#]+|\d+\.) /, '')
    .split(/(?<=[.!?]["”)]?) (?=[A-Z`"“])/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '' && !sentence.startsWith('@'));
}

/** Returns a sentence without quoted names of tests, which are entries of a list. */
function withoutQuotes(sentence: string): string {
  return sentence.replace(/«[^»]*»/g, '');
}

function withoutCode(sentence: string): string {
  return withoutQuotes(sentence)
    .replace(/`[^`]*`/g, '')
    .replace(/&[a-z]+;/g, '');
}

function wordsOf(sentence: string): string[] {
  return sentence.split(' ').filter((word) => /\w/.test(word));
}
