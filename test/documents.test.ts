/** Commands and links in the documents, compared with the files of the project. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const project = resolve(import.meta.dirname, '..');
const documents = globSync('{*,docs/*,docs/reference/*,content/*,deploy/*}.md', { cwd: project }).map((path) => ({
  path,
  text: readFileSync(join(project, path), 'utf8'),
}));

test('in the documents, each command whose output goes into a file uses npm run --silent', () => {
  const commands = documents.flatMap(({ text }) => [...text.matchAll(/npm run [^`\n|<]*(?: > \S+|inbox -- export)/g)]);
  expect(commands.length).toBeGreaterThan(0);
  for (const [command] of commands) expect(command).toContain('npm run --silent ');
});

test('in the documents, every link to a file has a target', () => {
  const links = documents
    .filter(({ path }) => !path.startsWith('content/'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, to = '']) => [path, to] as const),
    );
  expect(links.length).toBeGreaterThan(20);
  const broken = links.filter(([from, to]) => !existsSync(join(project, dirname(from), to)));
  expect(broken).toEqual([]);
});

test.each(['05', '06', '08', '19', '24', '26'])(
  'chapter %s of the reference links to the chapter on sandbox clients',
  (number) => {
    const chapter = documents.find(({ path }) => path.startsWith(`docs/reference/${number}-`));
    expect(chapter?.text).toMatch(/\(\[§27\.\d\]\(27-sandbox\.md\)\)/);
  },
);

test('README and docs/operations.md link to docs/one-box.md', () => {
  for (const path of ['README.md', 'docs/operations.md']) {
    const document = documents.find((each) => each.path === path);
    expect(document?.text, path).toMatch(/\]\((docs\/)?one-box\.md\)/);
  }
});
