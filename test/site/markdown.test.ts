/** Lists of contents, links at headings and tables, and the marks of Markdown that pages use (reference §14.1). */
import { describe, expect, test } from 'vitest';
import { foldSections, renderContents, renderDocument, slug } from '../../src/site/markdown.ts';
import { defaultWords } from '../../src/site/words.ts';

const { documentation: words } = defaultWords();
/** Returns Markdown with a section for each name, and as many subsections below each as its number says. */
const document = (sections: Record<string, number>) =>
  Object.entries(sections)
    .map(([name, under]) => `## ${name}\n${Array.from({ length: under }, (_, n) => `### ${name} ${n}\n`).join('')}`)
    .join('');
/** Returns each link of one of the two lists, with the number of lists around it. */
const listed = (html: string) => {
  let depth = 0;
  const [list = ''] = html.split('</details>');
  return [...list.matchAll(/<ul>|<\/ul>|<a href="#([^"]*)">([^<]*)<\/a>/g)].flatMap(([mark, id, text]) => {
    if (id === undefined) depth += mark === '<ul>' ? 1 : -1;
    return id === undefined ? [] : [[depth, id, text]];
  });
};

describe('renderContents', () => {
  test('lists sections, and below each its subsections', () => {
    const { headings } = renderDocument(document({ One: 2, Two: 0 }));
    expect(listed(renderContents(headings, words))).toEqual([
      [1, 'one', 'One'],
      [2, 'one-0', 'One 0'],
      [2, 'one-1', 'One 1'],
      [1, 'two', 'Two'],
    ]);
  });

  test('lists a subsection before the first section beside the sections', () => {
    const { headings } = renderDocument('### Before\n## One\n');
    expect(listed(renderContents(headings, words))).toEqual([
      [1, 'before', 'Before'],
      [1, 'one', 'One'],
    ]);
  });

  test('lists up to 12 subsections of a section, and none of a section that has more', () => {
    const { headings } = renderDocument(document({ Most: 12, More: 13 }));
    const ids = listed(renderContents(headings, words)).map(([, id]) => String(id));
    expect([ids.filter((id) => /^most-/.test(id)).length, ids.filter((id) => /^more/.test(id))]).toEqual([
      12,
      ['more'],
    ]);
  });

  test('shows the text of a heading without its marks', () => {
    const { headings } = renderDocument('## `GET` & more\n\n### Of *it*\n');
    expect(headings).toEqual([
      { level: 2, id: 'get-more', text: 'GET & more' },
      { level: 3, id: 'of-it', text: 'Of it' },
    ]);
  });
});

describe('renderDocument', () => {
  const anchor = (id: string) => `<a class="anchor" href="#${id}" tabindex="-1" aria-hidden="true">#</a>`;

  test('adds a link to each heading of a page with links, and to no heading of another page', () => {
    const markdown = '## One\n\n### Two\n';
    const { html } = renderDocument(markdown, { links: true });
    expect(html).toContain(`<h2 id="one-heading">One ${anchor('one')}</h2>\n`);
    expect(html).toContain(`<h3 id="two">Two ${anchor('two')}</h3>\n`);
    expect(renderDocument(markdown).html).not.toContain('anchor');
  });

  test('gives a row the id to which its first cell links, on a page with links', () => {
    const markdown = '| a | b |\n|---|---|\n| [x](#code-x) | 1 |\n| [y](/other) | 2 |\n| z [w](#code-w) | 3 |\n';
    const { html } = renderDocument(markdown, { links: true });
    expect([...html.matchAll(/<tr[^>]*>/g)].map(String)).toEqual(['<tr>', '<tr id="code-x">', '<tr>', '<tr>']);
    expect(renderDocument(markdown).html).not.toContain('<tr id');
  });

  test('gives a repeated heading another id, and no id to a heading inside a quotation', () => {
    const { html, headings } = renderDocument('## One\n\n## One\n\n> ## Quoted\n\n#### Four\n');
    expect(headings.map(({ id }) => id)).toEqual(['one', 'one-2']);
    expect(html).toContain('<blockquote>\n<h2>Quoted</h2>\n</blockquote>');
    expect(html).toContain('<h4>Four</h4>');
  });

  test('puts the text before the first section outside sections', () => {
    const { html } = renderDocument('Before\n\n## One\n\nText\n');
    expect(html).toBe('<p>Before</p>\n<section id="one">\n<h2 id="one-heading">One</h2>\n<p>Text</p>\n</section>\n');
  });

  test('marks the method of an HTTP call in inline code, and no other word', () => {
    const { html } = renderDocument('`POST /a<b` `GET` `GETTING` `PUT /c` `a GET /d`\n');
    expect(html).toBe(
      '<p><code><span class="method post">POST</span> /a&lt;b</code> <code>GET</code> <code>GETTING</code> ' +
        '<code>PUT /c</code> <code>a GET /d</code></p>\n',
    );
  });

  test('escapes the words of the site in the name of a table', () => {
    const { html } = renderDocument('| a |\n|---|\n', { words: { ...words, table: 'A "table"' } });
    expect(html).toContain('aria-label="A &quot;table&quot;"');
  });
});

describe('Markdown', () => {
  test('gives sections ids in the letters of any script', () => {
    const html = renderDocument('## Über uns\n\n## ماذا يحدث؟\n\n## Что дальше\n\n## …\n\n## …\n').html;
    const ids = [...html.matchAll(/<section id="([^"]*)"/g)].map(([, id]) => id);
    expect(ids).toEqual(['über-uns', 'ماذا-يحدث', 'что-дальше', 'section-4', 'section-5']);
  });

  test('breaks a line at <br>, and reads no other HTML', () => {
    const { html } = renderDocument('| a |\n|---|\n| 1. one<br>2. <b>two</b> `<br>` |');
    expect(html).toContain('<td>1. one<br>2. &lt;b&gt;two&lt;/b&gt; <code>&lt;br&gt;</code></td>');
  });

  test('labels a table with its heading', () => {
    const table = '| a | b |\n|---|---|\n| 1 | 2 |\n';
    const html = renderDocument(`${table}\n## Limits\n\n${table}\n### Of previews\n\n${table}`).html;
    const names = [...html.matchAll(/class="scroll" role="group" ([^ ]*) tabindex/g)];
    expect(names.map(([, name]) => name)).toEqual([
      'aria-label="Table"',
      'aria-labelledby="limits-heading"',
      'aria-labelledby="of-previews"',
    ]);
    expect(html).toContain('<h2 id="limits-heading">Limits</h2>');
    expect(html).toContain('<h3 id="of-previews">Of previews</h3>');
  });
});

test('slug returns words joined by hyphens, without one at either end', () => {
  expect(['“Why?” – 2 Reasons!', '…', 'one'].map(slug)).toEqual(['why-2-reasons', '', 'one']);
});

test('foldSections folds the text of each subsection, up to the next subsection or the end of its section', () => {
  const { html } = renderDocument('## One\n\nText\n\n### Two\n\nA\n\n### Three\n\nB\n\n## Four\n\nC\n');
  expect(foldSections(html)).toBe(
    [
      '<section id="one">\n<h2 id="one-heading">One</h2>\n<p>Text</p>\n',
      '<details>\n<summary><h3 id="two">Two</h3></summary>\n<p>A</p>\n</details>\n',
      '<details>\n<summary><h3 id="three">Three</h3></summary>\n<p>B</p>\n</details>\n</section>\n',
      '<section id="four">\n<h2 id="four-heading">Four</h2>\n<p>C</p>\n</section>\n',
    ].join(''),
  );
});
