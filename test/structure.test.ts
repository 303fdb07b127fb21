import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const project = resolve(import.meta.dirname, '..');

/** Writes these files into a new folder, runs a program of the project there and returns its status and output. */
function run(folder: string, files: Record<string, string>, program: string, args: string[]) {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const ended = spawnSync(join(project, 'node_modules/.bin', program), args, {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status: ended.status, output: ended.stdout + ended.stderr };
}

/** Lints these files with the project's own rules. */
function lint(files: Record<string, string>): { status: number | null; output: string } {
  const folder = mkdtempSync(join(tmpdir(), 'lint-'));
  const rules = JSON.parse(readFileSync(join(project, 'biome.json'), 'utf8'));
  writeFileSync(join(folder, 'biome.json'), JSON.stringify({ ...rules, vcs: { enabled: false } }));
  for (const name of ['node_modules', 'lint']) symlinkSync(join(project, name), join(folder, name));
  return run(folder, files, 'biome', ['lint', 'src']);
}

describe('import rules', () => {
  const clean = {
    'src/forms/a.ts': "import { b } from './b.ts';\nexport const a = b;\n",
    'src/forms/b.ts': 'export const b = 1;\n',
  };

  test('accept files that follow the rules', () => {
    expect(lint(clean).status).toBe(0);
  });

  test.each([
    ['an import cycle', 'src/forms/b.ts', "import { a } from './a.ts';\nexport const b = () => a;\n", 'noImportCycles'],
    [
      'a cycle of types',
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
      'a Fastify plugin in a handler',
      'src/actions/execute.ts',
      "import cors from '@fastify/cors';\nexport const b = cors;\n",
      'noRestrictedImports',
    ],
    [
      'a type of Fastify in a new file of site',
      'src/site/new.ts',
      "import type { FastifyReply } from 'fastify';\nexport type B = FastifyReply;\n",
      'noRestrictedImports',
    ],
    [
      'Fastify in the list of routes',
      'src/routes.ts',
      "import type { HTTPMethods } from 'fastify';\nexport type B = HTTPMethods;\n",
      'noRestrictedImports',
    ],
  ])('reject %s', (_name, path, text, rule) => {
    const { status, output } = lint({ ...clean, [path]: text });
    expect([status, output]).toEqual([1, expect.stringContaining(rule)]);
  });

  test('accept Fastify in the server, in the application and in the routes of a module', () => {
    const text = "import type { FastifyInstance } from 'fastify';\nexport type B = FastifyInstance;\n";
    const paths = ['src/app.ts', 'src/server/a.ts', 'src/actions/routes.ts', 'src/discovery/reference/routes.ts'];
    expect(lint(Object.fromEntries(paths.map((path) => [path, text]))).status).toBe(0);
  });
});

describe('lint/modules.ts', () => {
  const judge = (files: Record<string, string>) =>
    run(mkdtempSync(join(tmpdir(), 'modules-')), files, 'node', [join(project, 'lint/modules.ts')]);

  test('accepts imports from modules below and the same module, and imports of routes in src/app.ts', () => {
    const ended = judge({
      'src/app.ts': "import { b } from './intake/routes.ts';\nexport const a = b;\n",
      'src/intake/routes.ts':
        "import { routes } from '../routes.ts';\nimport { c } from './leads.ts';\nexport const b = [c, routes];\n",
      'src/intake/leads.ts':
        "import pg from 'pg';\nimport type { Form } from '../forms/catalog.ts';\nexport const c = (form: Form) => pg;\n",
    });
    expect(ended).toEqual({ status: 0, output: '' });
  });

  test.each([
    ['a type from a module above', 'src/forms/a.ts', "import type { B } from '../mail/b.ts';"],
    ['an import of several lines', 'src/http/a.ts', "import {\n  b,\n} from '../server/b.ts';"],
    ['a dynamic import', 'src/storage/a.ts', "const b = await import('../actions/b.ts');"],
    ['the type of a dynamic import', 'src/http/a.ts', "type B = typeof import('../site/b.ts');"],
    ['an import without names', 'src/limits/a.ts', "import '../site/b.ts';"],
    ['an export from another module', 'src/mail/a.ts', "export { b } from '../intake/b.ts';"],
    ['a module above the clock', 'src/platform/clock.ts', "import { b } from '../forms/b.ts';"],
    ['a module above, from a subfolder', 'src/site/x/a.ts', "import '../../intake/b.ts';"],
    ['main', 'src/site/pages.ts', "import { b } from '../main.ts';"],
    ['the module that composes the parts', 'src/mail/mail.ts', "import type { Parts } from '../compose.ts';"],
    ['the application', 'src/commands/a.ts', "import { buildApp } from '../app.ts';"],
  ])('rejects an import from a module above: %s', (_name, path, text) => {
    const { status, output } = judge({ [path]: text });
    expect([status, output]).toEqual([1, expect.stringContaining('runs back up')]);
  });

  test.each([
    ['the routes in a handler of the same module', 'src/actions/preview.ts', "import './routes.ts';"],
    ['the routes of a module below', 'src/discovery/a.ts', "import '../site/routes.ts';"],
  ])('rejects an import of routes outside app.ts: %s', (_name, path, text) => {
    const { status, output } = judge({ [path]: text });
    expect([status, output]).toEqual([1, expect.stringContaining('which app.ts alone does')]);
  });

  test('rejects a module that is not in its list, and an import from outside src', () => {
    const stranger = judge({ 'src/helpers/a.ts': 'export const a = 1;\n' });
    expect(stranger.output).toContain('src/helpers/a.ts: its module is not in the list');
    const outside = judge({ 'src/mail/a.ts': "import '../../test/support/a.ts';\n" });
    expect([outside.status, outside.output]).toEqual([1, expect.stringContaining('leaves src')]);
  });
});

test('the files of src have a median of at most 110 lines', () => {
  const files = globSync('src/**/*.ts', { cwd: project });
  expect(files.length).toBeGreaterThan(200);
  const lengths = files.map((path) => readFileSync(join(project, path), 'utf8').split('\n').length - 1);
  expect(lengths.sort((a, b) => a - b)[Math.floor(files.length / 2)]).toBeLessThanOrEqual(110);
});

test('lint/sizes.ts accepts 250 lines of source and 400 of tests, and reports longer files with their limit', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sizes-'));
  const program = [join(project, 'lint/sizes.ts')];
  const lines = (count: number) => 'one\n'.repeat(count);
  const short = { 'src/a.ts': lines(250), 'e2e/b.e2e.ts': lines(400), 'test/c.test.ts': lines(400) };
  expect(run(folder, short, 'node', program)).toEqual({ status: 0, output: '' });
  const long = { 'src/a.ts': lines(251), 'e2e/d.js': lines(251), 'test/c.test.ts': lines(401) };
  const { status, output } = run(folder, long, 'node', program);
  expect(status).toBe(1);
  expect(output.split('\n').filter(Boolean).sort()).toEqual([
    'e2e/d.js has 251 lines, and the limit is 250. Split it.',
    'src/a.ts has 251 lines, and the limit is 250. Split it.',
    'test/c.test.ts has 401 lines, and the limit is 400. Split it.',
  ]);
});

test('tsconfig.json includes every folder with TypeScript', () => {
  const { include } = JSON.parse(readFileSync(join(project, 'tsconfig.json'), 'utf8'));
  const folders = globSync('*/**/*.ts', {
    cwd: project,
    exclude: ['**/node_modules/**', '.stryker-tmp/**', 'data/**'],
  }).map((path) => path.split('/')[0]);
  expect(include).toEqual(expect.arrayContaining([...new Set(folders)]));
});

describe('rule on time and random values', () => {
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
  ])('rejects %s', (text) => {
    const { status, output } = lint({ 'src/actions/a.ts': `${text}\n` });
    expect([status, output]).toEqual([1, expect.stringContaining('come from src/platform/clock.ts')]);
  });

  test('accepts clock.ts and random.ts, and a Date that is parsed from a text', () => {
    const clean = lint({
      'src/platform/clock.ts': 'export const a = () => new Date();\n',
      'src/platform/random.ts': 'export const a = () => Math.random();\n',
      'src/actions/a.ts': "export const a = new Date('2026-09-01');\n",
    });
    expect(clean.status).toBe(0);
  });
});
