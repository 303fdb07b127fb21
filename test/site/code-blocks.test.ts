import { expect, test } from 'vitest';
import { highlight } from '../../src/site/code-blocks.ts';
import { renderDocument } from '../../src/site/markdown.ts';

const fence = (info: string, code: string) => `\`\`\`${info}\n${code}\n\`\`\`\n`;
/** Returns the text that a reader sees. */
const textOf = (html: string) =>
  html
    .replace(/<[^>]*>/g, '')
    .replace(/&(quot|#x27|#39);/g, (_, name) => (name === 'quot' ? '"' : "'"))
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

const code = {
  sh: `KEY=$(od -An | tr -d ' ')\ncurl -H "X: $KEY" -d '{"a":"<b>"}' # why\n`,
  js: `const \`a\${1 + /<\\/script>/}\`; // <!-- & -->\n`,
  json: '{"a": [1, true, null, "</code></pre><script>alert(1)</script>"]}\n',
  python: `def f(x={}):  # "&amp;"\n    return f"{x['y']!r}" if x else None\n`,
  php: '<?php\n$a = array_map(fn ($b) => "<$b>", [1]); ?>\n',
  html: '<form action="/x?a=1&amp;b=2"><!-- c --><script>let a = "</b>";</script></form>\n',
  cobol: '<b>&amp; DISPLAY "X".\n',
};

test.each(Object.entries(code))('highlights %s without changing a character', (language, text) => {
  const html = highlight(text, language);
  expect(textOf(html)).toBe(text);
  expect(html.replace(/<span class="(keyword|name|string|number|comment)">|<\/span>/g, '')).not.toMatch(/[<>]/);
  expect(html.match(/<span/g)?.length ?? 0).toBe(html.match(/<\/span>/g)?.length ?? 0);
});

test('highlights JSON, and nothing in a code block of an unknown language', () => {
  expect(highlight('{"a": true}', 'json')).toBe(
    '{<span class="name">&quot;a&quot;</span>: <span class="keyword">true</span>}',
  );
  expect(highlight(code.cobol, 'cobol')).not.toContain('<span');
  expect(highlight(code.cobol, '__proto__')).not.toContain('<span');
});

test('shows consecutive code blocks as named tabs of one example and selects the first', () => {
  const { html } = renderDocument(
    `${fence('sh curl', 'curl')}${fence('js JavaScript', 'fetch()')}${fence('json answer 201', '{}')}`,
  );
  expect(html.match(/class="example"/g)).toHaveLength(1);
  const inputs = [...html.matchAll(/<input type="radio" name="(.+?)" id="(.+?)" value="(.+?)"( checked)?>/g)];
  expect(inputs.map(([, ...each]) => each)).toEqual([
    ['example-1', 'example-1-1', 'curl', ' checked'],
    ['example-1', 'example-1-2', 'JavaScript', undefined],
  ]);
  expect(html.match(/<figcaption>.*<\/figcaption>/g)).toEqual([
    '<figcaption>curl</figcaption>',
    '<figcaption>JavaScript</figcaption>',
    '<figcaption>Answer <span class="status">201</span></figcaption>',
  ]);
});

test('shows a single code block without tabs under its language’s name, and starts a new example after text', () => {
  const html = renderDocument(`${fence('sh', 'a')}\nText\n\n${fence('js', 'b')}`).html;
  expect(html.match(/class="example"/g)).toHaveLength(2);
  expect(html).not.toContain('<input');
  expect(html.match(/<figcaption>.*<\/figcaption>/g)).toEqual([
    '<figcaption>Shell</figcaption>',
    '<figcaption>JavaScript</figcaption>',
  ]);
});

test('names each language, and an answer with or without its status', () => {
  const labels = (...infos: string[]) => {
    const { html } = renderDocument(infos.map((info) => fence(info, 'x')).join('Text\n\n'));
    return html.match(/(?<=<figcaption>).*(?=<\/figcaption>)/g);
  };
  expect(labels('json', 'python', 'php', 'html')).toEqual(['JSON', 'Python', 'PHP', 'HTML']);
  expect(labels('json answer', 'json answer 4040', 'json an answer')).toEqual(['Answer', 'answer 4040', 'an answer']);
});

test.each([
  ['sh', 'echo', 'keyword'],
  ['php', '&lt;?php', 'keyword'],
  ['js', '/a+/', 'string'],
  ['json', '42', 'number'],
])('marks in %s the code %s as %s', (language, text, name) => {
  const marked = highlight(`x = ${text.replace('&lt;', '<')}`, language);
  expect(marked).toContain(`<span class="${name}">${text}</span>`);
});

test('reads language and label of a code block between any spaces, and shows an empty one without both', () => {
  const html = renderDocument(`${fence('  sh   curl  7 ', 'a')}\nText\n\n${fence('', 'b')}`).html;
  expect(html.match(/<figcaption>.*<\/figcaption>/g)).toEqual([
    '<figcaption>curl 7</figcaption>',
    '<figcaption></figcaption>',
  ]);
});

test('escapes the label of a code block', () => {
  const html = renderDocument(fence('sh <b>"x"', 'a') + fence('sh other', 'b')).html;
  expect(html).toContain('&lt;b&gt;&quot;x&quot;');
  expect(html).not.toContain('<b>');
});
