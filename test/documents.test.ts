/** What the documents of the project say of commands and files, held by what is there. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const project = resolve(import.meta.dirname, '..');
const documents = globSync('{*,docs/*,content/*,deploy/*}.md', { cwd: project }).map((path) => ({
  path,
  text: readFileSync(join(project, path), 'utf8'),
}));

test('what is put into a file comes without the words that npm says first', () => {
  const commands = documents.flatMap(({ text }) => [
    ...text.matchAll(/npm run [^`\n|<]*(?: > \S+|inbox -- export)/g),
  ]);
  expect(commands.length).toBeGreaterThan(0);
  for (const [command] of commands) expect(command).toContain('npm run --silent ');
});

test('every file that one of them links to is there', () => {
  const links = documents
    .filter(({ path }) => !path.startsWith('content/'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, to = '']) => [path, to] as const),
    );
  expect(links.length).toBeGreaterThan(20);
  const broken = links.filter(([from, to]) => !existsSync(join(project, dirname(from), to)));
  expect(broken).toEqual([]);
});

test('the page about one machine is linked from where an operator begins', () => {
  for (const path of ['README.md', 'docs/operations.md']) {
    const document = documents.find((each) => each.path === path);
    expect(document?.text, path).toMatch(/\]\((docs\/)?one-box\.md\)/);
  }
});
