/**
 * Renders Markdown to HTML. Headings of the second level open sections. Headings of the second and third level have
 * ids.
 */
import MarkdownIt, { type Token } from 'markdown-it';
import { type Fence, renderExample } from './code-blocks.ts';
import { renderTemplate } from './templates.ts';
import { defaultWords, type Words } from './words.ts';

type Heading = { level: 2 | 3; id: string; text: string };

/** The list of contents omits the subheadings of a section that has more subheadings than this number. */
const MAXIMUM_SUBHEADINGS = 12;

/** Attribute of a table: id of the heading above the table, which is the table's name. */
const HEADING = 'data-heading';

/** Attribute of a heading: target of the link that the heading contains. */
const LINK = 'data-link';

/** Type of a token for adjacent code blocks. */
const EXAMPLE = 'example';

/** An HTTP call in inline code, whose method is marked. */
const CALL = /^(GET|POST|DELETE) (?=\S)/;

type RenderOptions = {
  words?: Words['documentation'];
  /**
   * True if each heading gets a link to itself, and each table row the id that its first cell links to.
   */
  links?: boolean;
};

type Example = { id: string; fences: Fence[] };

/** Data of a document for the rendering rules. */
type Environment = { words: Words['documentation']; examples: ReadonlyMap<Token, Example> };

const markdownIt = markdownParser();

/** Returns the parser with our own HTML for tables, code, headings and examples. */
function markdownParser() {
  const parser = new MarkdownIt({ html: false });
  const { rules } = parser.renderer;
  const { escapeHtml } = parser.utils;
  // A wide table or a long command scrolls inside the page, with the keyboard as well. The script removes an element
  // that fits from the tab order (`assets/scroll.js`).
  rules.table_open = (tokens, index, _options, environment) => {
    const { words } = environment as Environment;
    const heading = tokens[index]?.attrGet(HEADING);
    const table = escapeHtml(words.table);
    const name = heading ? `aria-labelledby="${heading}"` : `aria-label="${table}"`;
    return `<div class="scroll" role="group" ${name} tabindex="0"><table>\n`;
  };
  rules.table_close = () => '</table></div>\n';
  // Markdown has no other line break inside a table. The parser reads no HTML, so this is text.
  rules.text = (tokens, index) => escapeHtml(tokens[index]?.content ?? '').replaceAll('&lt;br&gt;', '<br>');
  rules.code_inline = (tokens, index) => {
    const content = tokens[index]?.content ?? '';
    const method = CALL.exec(content)?.[1];
    if (method === undefined) return `<code>${escapeHtml(content)}</code>`;
    const rest = escapeHtml(content.slice(method.length));
    return `<code><span class="method ${method.toLowerCase()}">${method}</span>${rest}</code>`;
  };
  rules.heading_close = (tokens, index) => {
    const id = tokens[index]?.attrGet(LINK);
    // The link is for the mouse. With the keyboard, the list of contents leads to each section.
    const link = id ? ` <a class="anchor" href="#${id}" tabindex="-1" aria-hidden="true">#</a>` : '';
    return `${link}</${tokens[index]?.tag}>\n`;
  };
  rules[EXAMPLE] = (tokens, index, _options, environment) => {
    const { words, examples } = environment as Environment;
    const { fences = [], id = '' } = examples.get(tokens[index] as Token) ?? {};
    return renderExample(fences, words, id);
  };
  return parser;
}

/** Returns HTML with one `<section>` for each heading of the second level, and the headings. */
export function renderDocument(
  markdown: string,
  { words = defaultWords().documentation, links = false }: RenderOptions = {},
): { html: string; headings: Heading[] } {
  const { tokens, examples } = withExamples(markdownIt.parse(markdown, {}));
  const headings: Heading[] = [];
  const starts: { index: number; id: string }[] = [];
  let heading: string | undefined;
  for (const [index, token] of tokens.entries()) {
    const isSection = token.tag === 'h2' && token.level === 0;
    if (token.type === 'heading_open' && (isSection || token.tag === 'h3')) {
      const inline = tokens[index + 1];
      const text = (inline?.children ?? []).map(({ content }) => content).join('');
      const id = freeId(slug(inline?.content ?? ''), headings);
      headings.push({ level: isSection ? 2 : 3, id, text });
      if (isSection) starts.push({ index, id });
      // The section has the id for links.
      heading = isSection ? `${id}-heading` : id;
      token.attrSet('id', heading);
      if (links) tokens[index + 2]?.attrSet(LINK, id);
    } else if (token.type === 'table_open' && heading !== undefined) {
      token.attrSet(HEADING, heading);
    } else if (token.type === 'tr_open' && links) {
      const id = fragmentIn(tokens[index + 2]);
      if (id !== undefined) token.attrSet('id', id);
    }
  }
  const environment: Environment = { words, examples };
  const render = (from: number, to?: number) =>
    markdownIt.renderer.render(tokens.slice(from, to), markdownIt.options, environment);
  const before = render(0, starts[0]?.index);
  const sections = starts.map(({ index, id }, number) => {
    return `<section id="${id}">\n${render(index, starts[number + 1]?.index)}</section>\n`;
  });
  return { html: before + sections.join(''), headings };
}

/** Returns the fragment to which the content of a cell links first, if it begins with such a link. */
function fragmentIn(inline: Token | undefined): string | undefined {
  const href = String(inline?.children?.[0]?.attrGet('href') ?? '');
  return href.startsWith('#') ? href.slice(1) : undefined;
}

/** Joins adjacent code blocks into one token. */
function withExamples(parsed: readonly Token[]) {
  const tokens: Token[] = [];
  const examples = new Map<Token, Example>();
  for (const token of parsed) {
    if (token.type !== 'fence') {
      tokens.push(token);
      continue;
    }
    const fence = { info: token.info, code: token.content };
    const example = examples.get(tokens.at(-1) as Token);
    if (example !== undefined) {
      example.fences.push(fence);
    } else {
      token.type = EXAMPLE;
      tokens.push(token);
      examples.set(token, { id: `example-${examples.size + 1}`, fences: [fence] });
    }
  }
  return { tokens, examples };
}

function freeId(id: string, taken: readonly Heading[]): string {
  const isTaken = id === '' || taken.some((heading) => heading.id === id);
  return isTaken ? `${id || 'section'}-${taken.length + 1}` : id;
}

/** Returns the id of a heading in any script. The id is empty if the heading has no letter and no digit. */
export function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '');
}

/** Renders the list of contents of a long page (reference §14.1). */
export function renderContents(headings: readonly Heading[], words: Words['documentation']): string {
  const entries: (Heading & { under: Heading[] })[] = [];
  for (const heading of headings) {
    const last = entries.at(-1);
    if (heading.level === 2 || last === undefined) entries.push({ ...heading, under: [] });
    else last.under.push(heading);
  }
  const shown = entries.map((entry) => (entry.under.length > MAXIMUM_SUBHEADINGS ? { ...entry, under: [] } : entry));
  return renderTemplate('contents', { entries: shown, words });
}

/** Folds the text under headings of the third level, without a script. The browser's search still finds the text. */
export function foldSections(html: string): string {
  // Escaped text contains no `<`, so the pattern matches only headings and ends of sections.
  const parts = html.split(/(?=<h3 |<\/section>)/).map((part) => {
    if (!part.startsWith('<h3 ')) return part;
    const [question, ...answer] = part.split('</h3>\n');
    return `<details>\n<summary>${question}</h3></summary>\n${answer.join('</h3>\n')}</details>\n`;
  });
  return parts.join('');
}
