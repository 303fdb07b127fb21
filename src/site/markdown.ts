/**
 * Markdown to HTML: no HTML of its own. Second-level headings open sections, and they and those of
 * the third level can be linked to.
 */
import type { default as MarkdownIt, Token } from 'markdown-it';
import { once, require } from '../once.ts';

/** Of a table: the id of the heading that it stands under, which is its name. */
const HEADING = 'data-heading';

/** Loaded with the first page: a start answers before that. */
const loaded = once(() => {
  const Loaded: typeof MarkdownIt = require('markdown-it');
  const markdownIt = new Loaded({ html: false });
  const { rules } = markdownIt.renderer;
  // A wide table or a long command scrolls by itself, with the keyboard too, and never the page. Where
  // scripts run, only those that do are a stop of the Tab key (`assets/scroll.js`).
  rules.table_open = (tokens, index, _options, environment = {}) => {
    const heading = tokens[index]?.attrGet(HEADING);
    const table = markdownIt.utils.escapeHtml(String(environment.table));
    const name = heading ? `aria-labelledby="${heading}"` : `aria-label="${table}"`;
    return `<div class="scroll" role="group" ${name} tabindex="0"><table>\n`;
  };
  rules.table_close = () => '</table></div>\n';
  rules.fence = (tokens, index) =>
    `<pre tabindex="0"><code>${markdownIt.utils.escapeHtml(tokens[index]?.content ?? '')}</code></pre>\n`;
  return markdownIt;
});

/** Takes Markdown and what a table under no heading is called; returns HTML, one `<section>` for each second-level heading and what follows it. */
export function renderMarkdown(markdown: string, table = 'Table'): string {
  const markdownIt = loaded();
  const tokens = markdownIt.parse(markdown, {});
  const taken = new Set<string>();
  const idAt = (index: number) => {
    const id = slug(tokens[index + 1]?.content ?? '');
    const free = taken.has(id) || id === '' ? `${id || 'section'}-${taken.size + 1}` : id;
    taken.add(free);
    return free;
  };
  const sectionIds = new Map<number, string>();
  let heading: string | undefined;
  for (const [index, token] of tokens.entries()) {
    if (isSectionHeading(token)) {
      const id = idAt(index);
      sectionIds.set(index, id);
      // The section has the id that links lead to.
      heading = `${id}-heading`;
      token.attrSet('id', heading);
    } else if (token.type === 'heading_open' && token.tag === 'h3') {
      heading = idAt(index);
      token.attrSet('id', heading);
    } else if (token.type === 'table_open' && heading !== undefined) {
      token.attrSet(HEADING, heading);
    }
  }
  const starts = [...sectionIds.keys()];
  const render = (from: number, to?: number) =>
    markdownIt.renderer.render(tokens.slice(from, to), markdownIt.options, { table });
  const sections = starts.map((start, number) => {
    return `<section id="${sectionIds.get(start)}">\n${render(start, starts[number + 1])}</section>\n`;
  });
  return render(0, starts[0]) + sections.join('');
}

function isSectionHeading(token: Token): boolean {
  return token.type === 'heading_open' && token.tag === 'h2' && token.level === 0;
}

/** What a link to a heading names it by, in whatever script; empty where it has no letter and no digit. */
export function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '');
}
