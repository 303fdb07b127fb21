/** docs/threat-model.md names tests that exist, and a test for every attack. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const project = resolve(import.meta.dirname, '../..');
const page = readFileSync(join(project, 'docs/threat-model.md'), 'utf8');

/** The cells of each row of the table of attacks. */
const attacks =
  page
    .split('\n## The attacks\n')[1]
    ?.split('\n## ')[0]
    ?.split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
    .map((line) => line.slice(2, -2).split(' | ')) ?? [];

/** Named as `path`: «name»; «name» …, in the last cell of a row. */
function namedTests(cell: string): { path: string; names: string[] }[] {
  return cell.split('<br>').map((named) => {
    const [, path = '', rest = ''] = /^`([^`]+)`:? ?(.*)$/.exec(named.trim()) ?? [];
    return { path, names: [...rest.matchAll(/«([^»]+)»/g)].map(([, name = '']) => name) };
  });
}

/** Without quotes and escapes of the source; what a table fills in may be anything. */
const plain = (text: string) => text.replaceAll('\\', '').replace(/[‘’]/g, "'");

describe('the threat model', () => {
  test('has a row for each attack, with what stops it and a requirement', () => {
    expect(attacks.length).toBeGreaterThanOrEqual(20);
    for (const [attack, stops = '', requirement = '', shown = ''] of attacks) {
      expect([attack, stops.length > 10]).toEqual([attack, true]);
      expect([attack, requirement]).toEqual([
        attack,
        expect.stringMatching(/^(\d+\.\d+\.\d+|V\d+|API\d+|—)/),
      ]);
      expect([attack, shown.length > 10]).toEqual([attack, true]);
    }
  });

  test.each(attacks.map(([attack = '', , , shown = '']) => [attack, shown]))(
    '%s: every test that is named exists',
    (_attack, shown) => {
      const named = namedTests(shown);
      expect(named.length).toBeGreaterThan(0);
      for (const { path, names } of named) {
        expect([path, existsSync(join(project, path))]).toEqual([path, true]);
        const source = plain(readFileSync(join(project, path), 'utf8'));
        expect([path, names.length > 0]).toEqual([path, true]);
        for (const name of names) {
          expect([path, name, source.includes(plain(name))]).toEqual([path, name, true]);
        }
      }
    },
  );

  test('names every file of test/attacks', () => {
    const files = globSync('test/attacks/**/*.test.ts', { cwd: project });
    expect(files.length).toBeGreaterThan(20);
    const unnamed = files.filter((file) => !page.includes(`\`${file}\``));
    expect(unnamed).toEqual(['test/attacks/threat-model.test.ts']);
  });

  test('links to sections that are there', () => {
    const operations = readFileSync(join(project, 'docs/operations.md'), 'utf8');
    for (const [, heading = ''] of page.matchAll(/\(operations\.md\), "([^"]+)"/g)) {
      expect(operations).toContain(`\n## ${heading}\n`);
    }
  });
});
