import { describe, expect, test } from 'vitest';
import { CONFIRMATION_STATEMENT } from '../../src/actions/preview.ts';
import { type FormName, forms } from '../../src/forms/catalog.ts';
import { validate } from '../../src/forms/validate.ts';
import { pathsOfPage } from '../../src/routes.ts';
import { documentationRules, sentScript } from '../../src/site/assets.ts';
import { parseContent } from '../../src/site/content.ts';
import { noOverrides } from '../../src/site/content-overrides.ts';
import { defaultFrame } from '../../src/site/layout.ts';
import { renderDocument } from '../../src/site/markdown.ts';
import { loadPages, type Page } from '../../src/site/pages.ts';
import { placeholderFiller } from '../../src/site/placeholders.ts';
import { defaultWords } from '../../src/site/words.ts';
import { eventTypes } from '../../src/submissions/events.ts';
import { formPages } from '../support/forms.ts';
import { deployment as settings } from './deployment.ts';

const hostile = `<script>alert(1)</script> <%= 7 * 7 %> & "Co" {{contact}} [a](javascript:b) *`;

const pages = loadPages(settings);
const page = (path: string, among: Page[] = pages): Page => {
  const found = among.find((each) => each.path === path);
  if (found === undefined) throw new Error(`no page ${path}`);
  return found;
};

const DATA_BLOCK = /<script type="application\/ld\+json">([^<]*)<\/script>/;
const OUR_MODULE = /<script type="module" src="\/assets\/(form|scroll)-[0-9a-f]{12}\.js"><\/script>/;
const OUR_RULES = `<style>${defaultFrame().rules}</style>`;
const OUR_OTHER_RULES = `<style>${documentationRules}</style>`;
const OUR_SCRIPT = `<script>${sentScript}</script>`;
/** Removes our own styles and scripts, and the data block, which never executes. */
const withoutData = (html: string) =>
  [DATA_BLOCK, OUR_MODULE, OUR_RULES, OUR_OTHER_RULES, OUR_SCRIPT].reduce<string>(
    (rest, ours) => rest.replace(ours, ''),
    html,
  );
const dataOf = (html: string) => JSON.parse(DATA_BLOCK.exec(html)?.[1] ?? '');

describe('pages', () => {
  test('have the paths of the contract, each with its mirror', () => {
    expect(pages.map((each) => [each.path, each.markdownPath])).toEqual([
      ['/', '/index.md'],
      ...formPages.map((path) => [path, `${path}.md`]),
      ['/agents', '/agents.md'],
      ['/privacy', '/privacy.md'],
      ['/thank-you', '/thank-you.md'],
      ['/receivers', '/receivers.md'],
      ['/receipts', '/receipts.md'],
      ['/embed', '/embed.md'],
    ]);
  });

  test.each(Object.keys(forms) as FormName[])('contain the form %s on the page that the catalogue names', (name) => {
    const carrier = page(pathsOfPage(forms[name].page).path);
    expect(carrier.form).toBe(forms[name]);
    for (const field of forms[name].fields) expect(carrier.html).toContain(`name="${field.name}"`);
  });

  test.each(pages)('$path contains no unfilled placeholder, and only our own styles and scripts', (each) => {
    expect(withoutData(each.html)).not.toMatch(/\{\{|<script|<style| style=| on\w+=|undefined/);
    expect(each.markdown).not.toMatch(/\{\{|undefined/);
  });

  test.each(pages)('$path inlines its CSS rules, with those for code only if it contains code', ({ html }) => {
    expect(html).toContain(OUR_RULES);
    expect(html.includes(OUR_OTHER_RULES)).toBe(/class="(code|contents)"/.test(html));
    expect(html).not.toContain('rel="stylesheet"');
  });

  test.each(pages)('$path has one h1, a link to its mirror, a canonical link and unique ids', (each) => {
    expect(each.html.match(/<h1>/g)).toHaveLength(1);
    expect(each.html).toContain(`<link rel="alternate" type="text/markdown" href="${each.markdownPath}">`);
    expect(each.html).toContain(`<link rel="canonical" href="https://paint.example${each.path}">`);
    const ids = [...each.html.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test.each(pages)('$path links only to existing paths of this site', (each) => {
    const known = new Set([
      ...pages.flatMap(({ path, markdownPath }) => [path, markdownPath]),
      ...['/llms.txt', '/openapi.json', '/.well-known/service-agent.json', '/reference'],
      '/.well-known/jwks.json',
      '/agents/openapi.json',
      ...eventTypes.map((type) => `/schemas/${type}.json`),
    ]);
    const local = [...each.html.matchAll(/<a [^>]*href="(\/[^"]*)"/g)].map(([, href]) => href);
    expect(local.filter((href = '') => !known.has(href.replace(/#.*/, '')))).toEqual([]);
  });

  test('have noindex only on the thank-you page', () => {
    const hidden = pages.filter(({ html }) => html.includes('name="robots" content="noindex"'));
    expect(hidden.map(({ path }) => path)).toEqual(['/thank-you']);
  });

  test('name the recipient: the contractor for a quote, the operator for the newsletter', () => {
    expect(page('/quote').html).toContain('<strong><bdi>Sample Painting Company</bdi></strong>, to prepare');
    expect(page('/newsletter').html).toContain('<strong><bdi>Fair Coat</bdi></strong>, to send');
  });

  test('show the entered values and the errors again after a refused native post', () => {
    const refused = page('/contact').renderRefused({
      values: { subject: 'A <question>' },
      faults: { name: 'missing' },
    });
    expect(refused).toContain('<title>Error: Contact · Fair Coat</title>');
    expect(refused).toContain('value="A &lt;question&gt;"');
    expect(refused).toContain('<a href="#name-field">Please fill in “Full name”.</a>');
    // This page links the stylesheet because it is sent uncompressed.
    expect(refused).toContain('<link rel="stylesheet" href="/assets/site-');
  });
});

describe('values of settings in pages', () => {
  test('are escaped in HTML', async () => {
    const named = loadPages({
      ...settings,
      operator: { name: hostile, contact: undefined },
      contractor: { id: 'c-1', name: hostile },
    });
    const escaped =
      '&lt;script&gt;alert(1)&lt;/script&gt; &lt;%= 7 * 7 %&gt; &amp; &quot;Co&quot; {{contact}} [a](javascript:b) *';
    for (const each of named) {
      expect(withoutData(each.html)).not.toMatch(/<script|href="javascript|<em>/);
      expect(dataOf(each.html)['@graph'][0].name).toBe(hostile);
      expect(each.html).toContain(escaped);
    }
    expect(page('/quote', named).html).toContain(`<strong>${escaped}</strong>`);
  });

  test('are escaped in a Markdown mirror', async () => {
    const named = loadPages({ ...settings, operator: { name: hostile, contact: undefined } });
    const { markdown } = page('/contact', named);
    const rendered = renderDocument(markdown).html;
    expect(markdown).not.toMatch(/(?<!\\)<(script|%)/);
    expect(rendered).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &lt;%= 7 * 7 %&gt; &amp;');
    expect(rendered).not.toContain('href="javascript');
  });

  test('turn the contact into a mailto: or tel: link, or a link to the contact form', () => {
    const contact = (written: string | undefined) =>
      placeholderFiller({ ...settings, operator: { name: 'X', contact: written } })('{{contact}}', 'html');
    expect(contact('a?b&c@paint.example')).toBe('<a href="mailto:a%3Fb%26c@paint.example">a?b&amp;c@paint.example</a>');
    expect(contact('+1 (555) 0100')).toBe('<a href="tel:+15550100">+1 (555) 0100</a>');
    expect(contact(undefined)).toBe('<a href="/contact">the contact form</a>');
  });

  test('name the operator’s e-mail address or telephone number in the data for search engines', () => {
    const contact = (written: string | undefined) => {
      const [start] = loadPages({ ...settings, operator: { name: 'X', contact: written } });
      return dataOf(start?.html ?? '')['@graph'][0];
    };
    expect(contact('help@paint.example')).toMatchObject({ name: 'X', email: 'help@paint.example' });
    expect(contact('+1 555 0100')).toMatchObject({ name: 'X', telephone: '+1 555 0100' });
    expect(Object.keys(contact(undefined))).toEqual(['@type', '@id', 'name', 'url']);
  });

  test('describe the contractor in general if no name is set', async () => {
    const unnamed = loadPages({ ...settings, contractor: undefined });
    expect(page('/quote', unnamed).html).toContain('<strong>one vetted painting contractor</strong>');
  });
});

test('/privacy states the retention of receipts, and that delivered requests have no fixed deletion date', () => {
  const { html, markdown } = page('/privacy');
  for (const text of [html, markdown]) {
    expect(text).toContain('123 days');
    expect(text).toContain('No fixed date');
  }
});

describe('Markdown mirror', () => {
  test('contains the title, the description and the text of its page', () => {
    const { markdown } = page('/quote');
    expect(markdown).toMatch(/^# Request a quote\n\n> A few facts .+\n\n## Next steps\n/);
    expect(markdown).toContain('**Sample Painting Company**');
  });

  test.each(Object.values(forms))(
    'of $name lists every field with requirement and maximum length as in the catalogue',
    (form) => {
      const { markdown } = page(pathsOfPage(form.page).path);
      const rows = markdown.match(/^\| `.*$/gm) ?? [];
      expect(rows.map((row) => row.split(' | ').slice(0, 3))).toEqual(
        form.fields.map((field) => [
          `| \`${field.name}\``,
          field.required ? 'yes' : 'no',
          `${field.maximum} characters`,
        ]),
      );
    },
  );

  test.each(Object.values(forms))(
    'of $name explains how an agent sends the form, with a valid example body',
    (form) => {
      const { markdown } = page(pathsOfPage(form.page).path);
      expect(markdown).toContain(`https://paint.example/api/agent/actions/${form.name}/preview`);
      expect(markdown).toContain(`https://paint.example/api/agent/actions/${form.name}/execute`);
      expect(markdown).toContain(CONFIRMATION_STATEMENT);
      const example = /```json\n([\s\S]*?)\n```/.exec(markdown)?.[1] ?? '';
      expect(validate(form, JSON.parse(example)).kind).toBe('valid');
    },
  );
});

describe('/agents', () => {
  test('contains commands with a valid preview and the exact confirmation', () => {
    const { markdown } = page('/agents');
    const bodies = [...markdown.matchAll(/ -d '(\{.*\})'/g)].map(([, body]) => body ?? '');
    const [preview = '', execute = ''] = bodies;
    expect(validate(forms.homeowner_quote, JSON.parse(preview)).kind).toBe('valid');
    expect(JSON.parse(execute.replace(`'"$PREVIEW_ID"'`, 'p.s'))).toEqual({
      preview_id: 'p.s',
      confirmation: true,
      confirmation_text: CONFIRMATION_STATEMENT,
    });
  });

  test('reads the token from the environment and contains none', () => {
    const { markdown } = page('/agents');
    const credentials = markdown.match(/Bearer [^"'`]+/g) ?? [];
    expect(credentials).toHaveLength(12);
    for (const credential of credentials)
      expect(credential).toMatch(/^Bearer (\$TOKEN|\$\{(process|TOKEN|env:|input:)|\{os)/);
  });
});

test('the start page folds its questions, and its mirror shows them as headings', () => {
  const { html, markdown } = page('/');
  const questions = [...html.matchAll(/<details>\n<summary><h3 id="[^"]*">(.*?)<\/h3><\/summary>/g)];
  expect(questions.map(([, question]) => question)).toEqual([
    'What does it cost?',
    'Who sees my number?',
    'What if I hear nothing?',
    'What does “vetted” mean?',
  ]);
  expect(html.match(/<\/p>\n<\/details>/g)).toHaveLength(4);
  expect(markdown).toMatch(/### Who sees my number\?\n\nA number is optional\./);
  expect(page('/contractors').html).not.toContain('<details>');
});

test('the icons of the steps are hidden from assistive technology and absent from the mirror', () => {
  const { html, markdown } = page('/');
  expect(html.match(/<li><svg class="icon" [^>]*aria-hidden="true"/g)).toHaveLength(3);
  expect(markdown).toContain('1. **You describe the job.**');
});

test('/embed warns that an unknown form name makes a newsletter subscription, and of another encoding', () => {
  const { markdown, html } = page('/embed');
  for (const text of [markdown, html.replaceAll(/<[^>]+>/g, '')]) {
    expect(text).toMatch(/a value other than the form names, the submission counts as a newsletter subscription/);
    expect(text).toContain('If your page has another encoding than UTF-8');
  }
});

test('title and description name the operator, in a mirror with its marks escaped', () => {
  const text = '---\ntitle: About {{operator}}\ndescription: Of {{operator}}\norder: 1\n---\n';
  const named = { ...settings, operator: { name: 'Fair_Coat', contact: undefined } };
  const overrides = { ...noOverrides, words: defaultWords(), pages: new Map([['extra.md', text]]) };
  const { html, markdown } = page('/extra', loadPages(named, overrides));
  expect(html).toContain('<title>About Fair_Coat · Fair_Coat</title>');
  expect(html).toContain('<meta name="description" content="Of Fair_Coat">');
  expect(markdown).toBe('# About Fair\\_Coat\n\n> Of Fair\\_Coat\n');
});

test('a page that lists its headings shows no list without headings', () => {
  const text = '---\ntitle: T\ndescription: D\norder: 1\ncontents: true\n---\nText\n';
  const among = (body: string) =>
    page(
      '/extra',
      loadPages(settings, { ...noOverrides, words: defaultWords(), pages: new Map([['extra.md', body]]) }),
    );
  expect(among(text).html).not.toContain('<nav class="contents"');
  expect(among(`${text}\n## One\n`).html).toContain('<nav class="contents"');
});

test('/contact shows the operator’s address only if one is set', () => {
  const heading = 'Rather without a form?';
  expect(page('/contact').html).toContain(heading);
  expect(page('/contact').html).toContain('href="mailto:help@paint.example">help@paint.example</a> reaches');
  const unreachable = { ...settings, operator: { name: 'Fair Coat', contact: undefined } };
  expect(page('/contact', loadPages(unreachable)).html).not.toContain(heading);
});

describe('conditional parts', () => {
  const local = loadPages({ ...settings, mode: 'local' });

  test('appear on /agents in local mode and not in production', () => {
    for (const spelling of ['html', 'markdown'] as const) {
      expect(page('/agents', local)[spelling]).toContain('data/agent-token');
      expect(page('/agents', local)[spelling]).toContain('npm run credentials');
      expect(page('/agents')[spelling]).not.toMatch(/agent-token|npm run|local mode/);
    }
  });

  test('leave no placeholders on any page', () => {
    for (const each of [...pages, ...local]) expect(each.html + each.markdown).not.toMatch(/\{\{/);
  });
});

describe('pages of a deployment without upstream, mail or signing keys', () => {
  const none = { kind: 'none' } as const;
  const paths = Object.values(forms).map(({ page: name }) => pathsOfPage(name).path);
  const isClosed = ({ html }: Page) =>
    html.includes('This form is closed for now') && !/<form|<button|<script type="module"/.test(html);

  test('show a closed notice instead of every form without an upstream', () => {
    const closed = loadPages({ ...settings, upstream: none });
    expect(paths.filter((path) => !isClosed(page(path, closed)))).toEqual([]);
    expect(page('/quote', closed).html).toContain('href="mailto:help@paint.example"');
    expect(paths.filter((path) => isClosed(page(path)))).toEqual([]);
  });

  test('show a closed notice only for the newsletter without mail', () => {
    const mailless = loadPages({ ...settings, mail: none });
    expect(paths.filter((path) => isClosed(page(path, mailless)))).toEqual(['/newsletter']);
  });

  test('show the values again to a person who opened the form before it was closed', () => {
    const closed = page('/contact', loadPages({ ...settings, upstream: none }));
    const html = closed.renderRefused({
      values: { subject: 'The colour' },
      notice: { kind: 'unavailable' },
    });
    expect(html).toMatch(/<form[\s\S]*value="The colour"[\s\S]*Send again<\/button>/);
  });

  test.each([{ upstream: none }, { previewSigningKeys: [] }])(
    'state on /agents that actions are switched off with %o',
    (missing) => {
      const off = page('/agents', loadPages({ ...settings, ...missing }));
      expect(off.html).toContain('Actions are switched off here');
      expect(off.markdown).toContain('Actions are switched off here');
      expect(page('/agents').html).not.toContain('switched off');
      const local = loadPages({ ...settings, mode: 'local', previewSigningKeys: [] });
      expect(page('/agents', local).html).not.toContain('switched off');
    },
  );
});

describe('invalid content', () => {
  const file = (head: string) => `---\ntitle: T\ndescription: D\norder: 1\n${head}---\nText\n`;

  test.each([
    ['no front matter', 'Text', /has no front matter/],
    ['text before its front matter', `Text\n${file('')}`, /has no front matter/],
    ['an unknown entry', file('colour: blue\n'), /colour/],
    ['a form that is not declared', file('form: survey\n'), /catalogue/],
    ['a form without its words', file('form: contact\n'), /submit and use/],
    ['a form without its purpose', file('form: contact\nsubmit: Send\n'), /submit and use/],
    ['a form without the text of its button', file('form: contact\nuse: to answer\n'), /submit and use/],
    [
      'the text after an undeclared form',
      file('after: { contact: { title: T, description: D }, survey: { title: T, description: D } }\n'),
      /takes names of forms alone/,
    ],
  ])('a page with %s is rejected', (_what, text, reason) => {
    expect(() => parseContent('page.md', text)).toThrow(reason);
  });

  test('a page with the line breaks of Windows is read like one with those of Unix', () => {
    expect(parseContent('page.md', file('').replaceAll('\n', '\r\n'))).toEqual(parseContent('page.md', file('')));
  });

  test('a page is listed and has no actions if its front matter does not say otherwise', () => {
    expect(parseContent('page.md', file(''))).toMatchObject({
      noindex: false,
      folds: false,
      contents: false,
      actions: [],
    });
  });

  test('an unknown placeholder is rejected', () => {
    expect(() => placeholderFiller(settings)('{{colour}}', 'text')).toThrow(/colour/);
  });

  test.each([
    '{{#local}}\n\nText',
    '{{#mcp}}\n\nText',
    'Text {{/local}}',
    '{{#production}}\n\nText\n\n{{/production}}',
  ])('the part %j without a proper beginning or end is rejected', (text) => {
    expect(() => placeholderFiller(settings)(text, 'text')).toThrow(/local|mcp|production/);
  });
});
