/**
 * Blocks of code on a page: one by itself, or one for each language as tabs, which need no script; and under
 * them what the service answers.
 */
import { highlight } from './highlight.ts';
import { renderTemplate } from './templates.ts';
import type { Words } from './words.ts';

/** Of a fence: what stands behind its three marks, and what it holds. */
export type Fence = { info: string; code: string };

const NAMES: Readonly<Record<string, string>> = {
  sh: 'Shell',
  js: 'JavaScript',
  json: 'JSON',
  python: 'Python',
  php: 'PHP',
  html: 'HTML',
};

/** Behind the language: an answer with its status. */
const ANSWER = /^answer (\d{3})$/;

/**
 * Takes fences that stand one behind the other, the words, and what no other example of the page is called;
 * returns HTML. A fence is ```` ```js Node ````, the language and a label; ```` ```json answer 200 ```` is what
 * is answered to those before it.
 */
export function renderExample(
  fences: readonly Fence[],
  words: Words['documentation'],
  id: string,
): string {
  const blocks = fences.map(({ info, code }) => {
    const [language = '', ...rest] = info.trim().split(/\s+/);
    const label = rest.join(' ');
    const status = ANSWER.exec(label)?.[1];
    const name = label || NAMES[language] || '';
    return { html: highlight(code, language), status, name };
  });
  const asked = blocks.filter(({ status }) => status === undefined);
  const answers = blocks.filter(({ status }) => status !== undefined);
  return renderTemplate('code', { asked, answers, words, id });
}
