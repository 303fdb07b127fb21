/** docs/threat-model.md names existing tests, and a test for every attack. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const project = resolve(import.meta.dirname, '../..');
const page = readFileSync(join(project, 'docs/threat-model.md'), 'utf8');

/** Returns the numbered rows of the tables in a section, by number and without it. */
function rowsUnder(heading: string): Map<string, string[]> {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const [own = ''] = section.split('\n## ', 1);
  return new Map(
    [...own.matchAll(/^\| (\d+) \| (.*) \|$/gm)].map(([, number = '', cells = '']) => [number, cells.split(' | ')]),
  );
}

const attacks = rowsUnder('Attacks');
const tests = rowsUnder('Tests');

/** Returns the tests of a row, written as `path`: «name», «name» … */
function namedTests(cell: string): { path: string; names: string[] }[] {
  return cell.split('<br>').map((named) => {
    const [, path = '', rest = ''] = /^`([^`]+)`:? ?(.*)$/.exec(named.trim()) ?? [];
    return { path, names: [...rest.matchAll(/«([^»]+)»/g)].map(([, name = '']) => name) };
  });
}

/** Removes quotes and escapes of the source, so that a name can be compared. */
const plain = (text: string) => text.replaceAll('\\', '').replace(/[‘’]/g, "'");

describe('docs/threat-model.md', () => {
  test('has a defence and a requirement for each attack', () => {
    expect(attacks.size).toBeGreaterThanOrEqual(20);
    expect([...tests.keys()]).toEqual([...attacks.keys()]);
    for (const [attack = '', stops = '', requirement = ''] of attacks.values()) {
      expect([attack, stops.length > 10]).toEqual([attack, true]);
      expect([attack, requirement]).toEqual([attack, expect.stringMatching(/^(\d+\.\d+\.\d+|V\d+|API\d+|—)/)]);
    }
  });

  test.each([...attacks].map(([number, [attack = '']]) => [attack, tests.get(number)?.[0] ?? '']))(
    '%s: names only existing tests',
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

  test('links only to existing sections of docs/operations.md', () => {
    const operations = readFileSync(join(project, 'docs/operations.md'), 'utf8');
    for (const [, heading = ''] of page.matchAll(/\(operations\.md\), "([^"]+)"/g)) {
      expect(operations).toContain(`\n## ${heading}\n`);
    }
  });
});
