/**
 * Markdown to HTML: no HTML of its own. Second-level headings open sections, and they and those of
 * the third level can be linked to.
 */
import type { default as MarkdownIt, Token } from 'markdown-it';
import { once, require } from '../once.ts';
import { type Fence, renderExample } from './code.ts';
import type { Heading } from './contents.ts';
import { ourWords, type Words } from './words.ts';

/** Of a table: the id of the heading that it stands under, which is its name. */
const HEADING = 'data-heading';

/** Of a heading: where its own link leads. */
const LINK = 'data-link';

/** Fences that stand one behind the other, as one token. */
const EXAMPLE = 'example';

/** A call, as code: its method is marked. */
const CALL = /^(GET|POST|DELETE) (?=\S)/;

export type RenderOptions = {
  words?: Words['documentation'];
  /** Whether each heading leads to itself, for who points at it. */
  links?: boolean;
};

type Example = { id: string; fences: Fence[] };

/** What the rules know of a document beside its tokens. */
type Environment = { words: Words['documentation']; examples: ReadonlyMap<Token, Example> };

/** Loaded with the first page: a start answers before that. */
const loaded = once(() => {
  const Loaded: typeof MarkdownIt = require('markdown-it');
  const markdownIt = new Loaded({ html: false });
  const { rules } = markdownIt.renderer;
  const { escapeHtml } = markdownIt.utils;
  // A wide table or a long command scrolls by itself, with the keyboard too, and never the page. Where
  // scripts run, only those that do are a stop of the Tab key (`assets/scroll.js`).
  rules.table_open = (tokens, index, _options, environment) => {
    const { words } = environment as Environment;
    const heading = tokens[index]?.attrGet(HEADING);
    const table = escapeHtml(words.table);
    const name = heading ? `aria-labelledby="${heading}"` : `aria-label="${table}"`;
    return `<div class="scroll" role="group" ${name} tabindex="0"><table>\n`;
  };
  rules.table_close = () => '</table></div>\n';
  rules.code_inline = (tokens, index) => {
    const content = tokens[index]?.content ?? '';
    const method = CALL.exec(content)?.[1];
    if (method === undefined) return `<code>${escapeHtml(content)}</code>`;
    const rest = escapeHtml(content.slice(method.length));
    return `<code><span class="method ${method.toLowerCase()}">${method}</span>${rest}</code>`;
  };
  rules.heading_close = (tokens, index) => {
    const id = tokens[index]?.attrGet(LINK);
    // For who points: the contents name each section, and lead there with the keyboard.
    const link = id
      ? ` <a class="anchor" href="#${id}" tabindex="-1" aria-hidden="true">#</a>`
      : '';
    return `${link}</${tokens[index]?.tag}>\n`;
  };
  rules[EXAMPLE] = (tokens, index, _options, environment) => {
    const { words, examples } = environment as Environment;
    const { fences = [], id = '' } = examples.get(tokens[index] as Token) ?? {};
    return renderExample(fences, words, id);
  };
  return markdownIt;
});

/** Takes Markdown; returns HTML, one `<section>` for each second-level heading and what follows it. */
export function renderMarkdown(markdown: string, options: RenderOptions = {}): string {
  return renderDocument(markdown, options).html;
}

/** The same with its headings of the second and the third level. */
export function renderDocument(
  markdown: string,
  { words = ourWords().documentation, links = false }: RenderOptions = {},
): { html: string; headings: Heading[] } {
  const markdownIt = loaded();
  const { tokens, examples } = withExamples(markdownIt.parse(markdown, {}));
  const headings: Heading[] = [];
  const starts: { index: number; id: string }[] = [];
  let heading: string | undefined;
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'heading_open' && (isSectionHeading(token) || token.tag === 'h3')) {
      const text = textOf(tokens[index + 1]);
      const id = freeId(slug(tokens[index + 1]?.content ?? ''), headings);
      const isSection = isSectionHeading(token);
      headings.push({ level: isSection ? 2 : 3, id, text });
      if (isSection) starts.push({ index, id });
      // A section has the id that links lead to.
      heading = isSection ? `${id}-heading` : id;
      token.attrSet('id', heading);
      if (links) tokens[index + 2]?.attrSet(LINK, id);
    } else if (token.type === 'table_open' && heading !== undefined) {
      token.attrSet(HEADING, heading);
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

/** Each run of fences becomes one token: those of one language each are tabs of one example. */
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

function isSectionHeading(token: Token): boolean {
  return token.type === 'heading_open' && token.tag === 'h2' && token.level === 0;
}

/** What a heading says, without its markup. */
function textOf(inline: Token | undefined): string {
  return (inline?.children ?? []).map(({ content }) => content).join('');
}

function freeId(id: string, taken: readonly Heading[]): string {
  const isTaken = id === '' || taken.some((heading) => heading.id === id);
  return isTaken ? `${id || 'section'}-${taken.length + 1}` : id;
}

/** What a link to a heading names it by, in whatever script; empty where it has no letter and no digit. */
export function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '');
}
