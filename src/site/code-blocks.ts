/**
 * Renders a single code block, or one code block for each language as tabs, which need no script. The answer of the
 * service follows. `highlight.js` marks keywords, names, strings, numbers and comments. Only a few classes of
 * `highlight.js` stay in the HTML, so that a page is small.
 */
import highlighter from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import php from 'highlight.js/lib/languages/php';
import python from 'highlight.js/lib/languages/python';
import xml from 'highlight.js/lib/languages/xml';
import { escapeHtml } from './interpolate.ts';
import { renderTemplate } from './templates.ts';
import type { Words } from './words.ts';

/** A code block of Markdown. `info` is the text after its opening marks. */
export type Fence = { info: string; code: string };

/** Grammar and name of a language, by the first word of `info`. */
const LANGUAGES: Readonly<Record<string, { grammar: typeof bash; name: string }>> = {
  sh: { grammar: bash, name: 'Shell' },
  js: { grammar: javascript, name: 'JavaScript' },
  json: { grammar: json, name: 'JSON' },
  python: { grammar: python, name: 'Python' },
  php: { grammar: php, name: 'PHP' },
  html: { grammar: xml, name: 'HTML' },
};

for (const [name, { grammar }] of Object.entries(LANGUAGES)) {
  highlighter.registerLanguage(name, grammar);
}

/** Label of an answer, with the HTTP status. */
const ANSWER = /^answer(?: (\d{3}))?$/;

/**
 * Renders adjacent code blocks as one example. ```` ```js Node ```` has a language and a label.
 * ```` ```json answer 200 ```` is the answer to the blocks before it. `id` is unique in the page.
 */
export function renderExample(fences: readonly Fence[], words: Words['documentation'], id: string): string {
  const blocks = fences.map(({ info, code }) => {
    const [language = '', ...rest] = info.trim().split(/\s+/);
    const label = rest.join(' ');
    const answer = ANSWER.exec(label);
    const name = answer === null ? label || LANGUAGES[language]?.name || '' : words.answer;
    return { html: highlight(code, language), name, isAnswer: answer !== null, status: answer?.[1] };
  });
  const asked = blocks.filter(({ isAnswer }) => !isAnswer);
  const answers = blocks.filter(({ isAnswer }) => isAnswer);
  return renderTemplate('code', { asked, answers, words, id });
}

/** Our class names, each with the library's classes that it replaces. */
const CLASSES = {
  keyword: ['keyword', 'literal', 'built_in', 'meta'],
  string: ['string', 'regexp'],
  number: ['number'],
  comment: ['comment'],
  name: ['attr', 'property', 'variable', 'name'],
};
const classOf: ReadonlyMap<string, string> = new Map(
  Object.entries(CLASSES).flatMap(([ours, theirs]) => theirs.map((each) => [each, ours] as const)),
);

/** Returns code as HTML. Code without a known language is only escaped. */
export function highlight(code: string, language: string): string {
  if (!Object.hasOwn(LANGUAGES, language)) return escapeHtml(code);
  return withOurClasses(highlighter.highlight(code, { language }).value);
}

/**
 * Replaces the nested marks of the library. Removes a mark inside a mark of the same class, and a mark without one of
 * our classes.
 */
function withOurClasses(html: string): string {
  const open: (string | undefined)[] = [];
  return html.replace(/<span class="([^"]*)">|<\/span>/g, (_mark, classes?: string) => {
    if (classes === undefined) return open.pop() === undefined ? '' : '</span>';
    const [name = ''] = classes.replace('hljs-', '').split(/\W/);
    const found = classOf.get(name);
    const ours = open.includes(found) ? undefined : found;
    open.push(ours);
    return ours === undefined ? '' : `<span class="${ours}">`;
  });
}
