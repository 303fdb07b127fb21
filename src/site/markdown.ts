/**
 * Markdown to HTML: no HTML of its own. Second-level headings open sections, and they and those of
 * the third level can be linked to.
 */
import type { default as MarkdownIt, Token } from 'markdown-it';
import { once, require } from '../once.ts';

/** Loaded with the first page: a start answers before that. */
const loaded = once(() => {
  const Loaded: typeof MarkdownIt = require('markdown-it');
  const markdownIt = new Loaded({ html: false });
  const { rules } = markdownIt.renderer;
  // A wide table or a long command scrolls by itself, with the keyboard too, and never the page.
  rules.table_open = () =>
    '<div class="scroll" role="group" aria-label="Table" tabindex="0"><table>\n';
  rules.table_close = () => '</table></div>\n';
  rules.fence = (tokens, index) =>
    `<pre tabindex="0"><code>${markdownIt.utils.escapeHtml(tokens[index]?.content ?? '')}</code></pre>\n`;
  return markdownIt;
});

/** Takes Markdown; returns HTML, one `<section>` for each second-level heading and what follows it. */
export function renderMarkdown(markdown: string): string {
  const markdownIt = loaded();
  const tokens = markdownIt.parse(markdown, {});
  const taken = new Set<string>();
  const idAt = (index: number) => {
    const id = slug(tokens[index + 1]?.content ?? '');
    const free = taken.has(id) ? `${id}-${taken.size}` : id;
    taken.add(free);
    return free;
  };
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'heading_open' && token.tag === 'h3') token.attrSet('id', idAt(index));
  }
  const starts = tokens.flatMap((token, index) => (isSectionHeading(token) ? [index] : []));
  const render = (from: number, to?: number) =>
    markdownIt.renderer.render(tokens.slice(from, to), markdownIt.options, {});
  const sections = starts.map((start, number) => {
    return `<section id="${idAt(start)}">\n${render(start, starts[number + 1])}</section>\n`;
  });
  return render(0, starts[0]) + sections.join('');
}

function isSectionHeading(token: Token): boolean {
  return token.type === 'heading_open' && token.tag === 'h2' && token.level === 0;
}

/** What a link to a heading names it by. */
export function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}
