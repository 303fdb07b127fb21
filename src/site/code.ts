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

/** Behind the language: an answer, and the status of one by HTTP. */
const ANSWER = /^answer(?: (\d{3}))?$/;

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
    const answer = ANSWER.exec(label);
    const name = answer === null ? label || NAMES[language] || '' : words.answer;
    return {
      html: highlight(code, language),
      name,
      isAnswer: answer !== null,
      status: answer?.[1],
    };
  });
  const asked = blocks.filter(({ isAnswer }) => !isAnswer);
  const answers = blocks.filter(({ isAnswer }) => isAnswer);
  return renderTemplate('code', { asked, answers, words, id });
}
