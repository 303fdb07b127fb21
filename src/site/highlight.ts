/**
 * Code as HTML with its keywords, names, strings, numbers and comments marked: `highlight.js` finds them,
 * and of its many classes these few are kept, so that a page stays small and each has a colour of its own.
 */
import { once, require } from '../once.ts';
import { escapeHtml } from './placeholders.ts';

/** What a fence of Markdown names, and the grammar for it. */
const GRAMMARS: Readonly<Record<string, string>> = {
  sh: 'bash',
  js: 'javascript',
  json: 'json',
  python: 'python',
  php: 'php',
  html: 'xml',
};

/** What is kept of a class of the library, by the first of its words. */
const KEPT: Readonly<Record<string, string>> = {
  keyword: 'keyword',
  literal: 'keyword',
  built_in: 'keyword',
  meta: 'keyword',
  string: 'string',
  regexp: 'string',
  number: 'number',
  comment: 'comment',
  attr: 'name',
  property: 'name',
  variable: 'name',
  name: 'name',
};

/** As much of the library as is used: its own types would bring those of a browser into everything. */
type Highlighter = {
  registerLanguage(name: string, rules: unknown): void;
  highlight(code: string, options: { language: string }): { value: string };
};

/** Only the core and these grammars, with the first page that has code: a start answers before that. */
const loaded = once((): Highlighter => {
  const highlighter: Highlighter = require('highlight.js/lib/core');
  for (const grammar of Object.values(GRAMMARS)) {
    highlighter.registerLanguage(grammar, require(`highlight.js/lib/languages/${grammar}`));
  }
  return highlighter;
});

/** Takes code and the language that its fence names; returns HTML, escaped alone where we know no grammar. */
export function highlight(code: string, language: string): string {
  const grammar = Object.hasOwn(GRAMMARS, language) ? GRAMMARS[language] : undefined;
  if (grammar === undefined) return escapeHtml(code);
  return withKeptClasses(loaded().highlight(code, { language: grammar }).value);
}

/** The library nests its marks: what ends one that is not kept goes with it, and one in its like is none. */
function withKeptClasses(html: string): string {
  const open: (string | undefined)[] = [];
  return html.replace(/<span class="([^"]*)">|<\/span>/g, (_mark, classes?: string) => {
    if (classes === undefined) return open.pop() === undefined ? '' : '</span>';
    const [name = ''] = classes.replace('hljs-', '').split(/\W/);
    const known = Object.hasOwn(KEPT, name) ? KEPT[name] : undefined;
    const kept = open.includes(known) ? undefined : known;
    open.push(kept);
    return kept === undefined ? '' : `<span class="${kept}">`;
  });
}
