import { spawnSync } from 'node:child_process';
import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const project = resolve(import.meta.dirname, '..');

/** Lints these files under the project's own rules, in a folder of their own. */
function lint(files: Record<string, string>): { status: number | null; output: string } {
  const folder = mkdtempSync(join(tmpdir(), 'lint-'));
  const rules = JSON.parse(readFileSync(join(project, 'biome.json'), 'utf8'));
  writeFileSync(join(folder, 'biome.json'), JSON.stringify({ ...rules, vcs: { enabled: false } }));
  for (const name of ['node_modules', 'lint']) symlinkSync(join(project, name), join(folder, name));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const run = spawnSync(join(project, 'node_modules/.bin/biome'), ['lint', 'src'], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status: run.status, output: run.stdout + run.stderr };
}

describe('the import rules see a planted violation', () => {
  const clean = {
    'src/forms/a.ts': "import { b } from './b.ts';\nexport const a = b;\n",
    'src/forms/b.ts': 'export const b = 1;\n',
  };

  test('and nothing where there is none', () => {
    expect(lint(clean).status).toBe(0);
  });

  test.each([
    [
      'an import circle',
      'src/forms/b.ts',
      "import { a } from './a.ts';\nexport const b = () => a;\n",
      'noImportCycles',
    ],
    [
      'a circle of types',
      'src/forms/b.ts',
      "import type { a } from './a.ts';\nexport const b = (c: typeof a) => c;\n",
      'noImportCycles',
    ],
    [
      'Fastify in the domain',
      'src/forms/b.ts',
      "import fastify from 'fastify';\nexport const b = fastify;\n",
      'noRestrictedImports',
    ],
    [
      'a Fastify plugin in a chain',
      'src/actions/execute.ts',
      "import cors from '@fastify/cors';\nexport const b = cors;\n",
      'noRestrictedImports',
    ],
    [
      'the routes in a chain',
      'src/actions/preview.ts',
      "import { b } from './routes.ts';\nexport const c = b;\n",
      'noRestrictedImports',
    ],
    [
      'main in a room',
      'src/site/pages.ts',
      "import { b } from '../main.ts';\nexport const c = b;\n",
      'noRestrictedImports',
    ],
    [
      'the parts in a domain room',
      'src/mail/mail.ts',
      "import type { Parts } from '../parts.ts';\nexport type C = Parts;\n",
      'noRestrictedImports',
    ],
  ])('%s', (_name, path, text, rule) => {
    const { status, output } = lint({ ...clean, [path]: text });
    expect([status, output]).toEqual([1, expect.stringContaining(rule)]);
  });
});

describe('the size budget', () => {
  const lengths = (pattern: string) =>
    globSync(pattern, { cwd: project }).map(
      (path) => [path, readFileSync(join(project, path), 'utf8').split('\n').length - 1] as const,
    );

  test('no source file is over 250 lines, and the middle one is under 110', () => {
    const files = lengths('src/**/*.ts');
    expect(files.filter(([, length]) => length > 250)).toEqual([]);
    const sorted = files.map(([, length]) => length).sort((a, b) => a - b);
    expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThanOrEqual(110);
  });

  test('no test file is over 400 lines', () => {
    expect(lengths('{test,e2e}/**/*.ts').filter(([, length]) => length > 400)).toEqual([]);
  });
});

describe('the rule on time and chance sees a planted violation', () => {
  test.each([
    'export const a = Date.now();',
    'export const a = new Date();',
    'export const a = Math.random();',
    'export const a = performance.now();',
    'export const a = process.hrtime.bigint();',
    'setTimeout(() => {}, 1);',
    'globalThis.setInterval(() => {}, 1);',
    'setImmediate(() => {});',
    "import { setTimeout as sleep } from 'node:timers/promises';\nexport const a = sleep;",
    "import { randomUUID as id } from 'node:crypto';\nexport const a = id;",
    "import { randomBytes } from 'node:crypto';\nexport const a = randomBytes;",
    "import * as crypto from 'node:crypto';\nexport const a = crypto.randomUUID();",
    "import { sql } from 'kysely';\nexport const a = sql`select now()`;",
    "import { sql } from 'kysely';\nexport const a = sql`select CURRENT_TIMESTAMP`;",
  ])('%s', (text) => {
    const { status, output } = lint({ 'src/actions/a.ts': `${text}\n` });
    expect([status, output]).toEqual([1, expect.stringContaining('come from src/clock.ts')]);
  });

  test('but not in the two files it names, nor in a date that is read', () => {
    const clean = lint({
      'src/clock.ts': 'export const a = () => new Date();\n',
      'src/chance.ts': 'export const a = () => Math.random();\n',
      'src/actions/a.ts': "export const a = new Date('2026-09-01');\n",
    });
    expect(clean.status).toBe(0);
  });
});
