import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { metricFamilies } from '../support/metrics.ts';
import { startService } from '../support/service.ts';

const project = resolve(import.meta.dirname, '../..');
const page = readFileSync(join(project, 'docs/operations.md'), 'utf8');

/** Returns the cells of all rows of the table below a heading. */
function rowsUnder(heading: string): string[][] {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  return section
    .split(/\n##? /, 1)
    .join()
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
    .map((line) => line.slice(2, -2).split(' | '))
    .filter(([first]) => first !== '---');
}

/** Returns level and text of each log call in the source: the last string in its arguments. */
function messagesOfSource(): string[] {
  return globSync('src/**/*.ts', { cwd: project }).flatMap((path) => {
    const source = readFileSync(join(project, path), 'utf8');
    return [...source.matchAll(/\blog\??\.(fatal|error|warn|info|debug)\(/g)].map(({ 1: level, index, 0: call }) => {
      const args = argumentsFrom(source, index + call.length);
      const texts = [...args.matchAll(/'([^']*)'|`([^`]*)`/g)];
      const [, quoted, template = ''] = texts.at(-1) ?? [];
      return `${level}: ${quoted ?? template.replace(/\$\{[^}]*\}/g, '…')}`;
    });
  });
}

function argumentsFrom(source: string, start: number): string {
  let depth = 1;
  let at = start;
  for (; depth > 0; at += 1) {
    if (source[at] === '(') depth += 1;
    if (source[at] === ')') depth -= 1;
  }
  return source.slice(start, at - 1);
}

test('the table of metrics equals the output of /metrics', async () => {
  const port = await freePort();
  const service = await startService({ environment: { METRICS_PORT: String(port) } });
  const families = [...(await metricFamilies(port)).keys()];
  await service.close();
  const rows = rowsUnder('Metrics').map(([name = '']) => name.replaceAll('`', ''));
  expect(families.length).toBeGreaterThan(20);
  expect(rows.sort()).toEqual(families.sort());
});

test('the table of log lines equals the log calls in the source', () => {
  const rows = rowsUnder('Log messages').map(([level, message = '']) => `${level}: ${message.replaceAll('`', '')}`);
  const said = messagesOfSource();
  expect(said.length).toBeGreaterThan(20);
  // On a pipe, this line is written before the log is open.
  expect(rows.sort()).toEqual([...new Set([...said, 'info: service started'])].sort());
});
