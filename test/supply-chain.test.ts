/** Third-party packages: their origin, their install scripts and their licences. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const project = resolve(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(project, path), 'utf8');

type Entry = {
  version: string;
  resolved?: string;
  integrity?: string;
  license?: string;
  link?: boolean;
  dev?: boolean;
  devOptional?: boolean;
  hasInstallScript?: boolean;
};
type Lock = { lockfileVersion: number; packages: Record<string, Entry> };
const entriesOf = ({ packages }: Lock) => Object.entries(packages).filter(([path]) => path !== '');
const lock: Lock = JSON.parse(read('package-lock.json'));
/** Programs that only `npm run rehearse` runs. One of them has no release yet. */
const programs: Lock = JSON.parse(read('test/mcp/programs/package-lock.json'));
const lighthouse: Lock = JSON.parse(read('test/lighthouse/program/package-lock.json'));
const checkers: Lock = JSON.parse(read('test/checkers/program/package-lock.json'));
const manifest = JSON.parse(read('package.json'));
const entries = entriesOf(lock);
const nameOf = (path: string) => path.split('node_modules/').at(-1) ?? '';

/** Licences that require only attribution. */
const PERMISSIVE = new Set([
  ...['MIT', 'MIT-0', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'PSF-2.0'],
  ...['BlueOak-1.0.0', 'Unlicense', 'CC0-1.0'],
]);

/** The parts of CycloneDX that this test reads. */
type Bill = {
  bomFormat: string;
  components: {
    name: string;
    version: string;
    licenses: { license?: { id: string }; expression?: string }[];
    properties: { name: string }[];
  }[];
};

/** The runtime tree of docs/dependencies.md with name, version and licence. */
const [, tree = ''] = read('docs/dependencies.md').split('\n## The runtime tree\n');
const documented = tree
  .split('\n')
  .filter((row) => row.startsWith('| `'))
  .map((row) => row.split('|').map((cell) => cell.trim()))
  .map(([, name = '', ...cells]) => `${/`(.*)`/.exec(name)?.[1]} ${cells[0]} ${cells[1]}`);

const runtime = entries.filter(([, { dev, devOptional }]) => !dev && !devOptional);

// lockfile-lint requires the address of every package. This lock file has none (npm's `omit-lockfile-registry-resolved`),
// so that it installs from any mirror. The integrity protects the content.
describe('package-lock.json', () => {
  test.each([
    ['of the project', lock, 100],
    ['of third-party programs', programs, 100],
    ['of Lighthouse', lighthouse, 100],
    ['of the checkers', checkers, 40],
  ])('%s: every entry has a SHA-512 digest of its content, and comes from the npm registry', (_name, each, least) => {
    expect(each.lockfileVersion).toBe(3);
    expect(entriesOf(each).length).toBeGreaterThan(least);
    for (const [path, { integrity, resolved, version, link }] of entriesOf(each)) {
      expect([path, integrity]).toEqual([path, expect.stringMatching(/^sha512-[\w+/]{86}==$/)]);
      // An entry is a version of the registry, never a folder, a git repository or another address.
      expect([path, version, link]).toEqual([path, expect.stringMatching(/^\d+\.\d+\.\d+/), undefined]);
      if (resolved !== undefined) {
        expect([path, new URL(resolved).origin]).toEqual([path, 'https://registry.npmjs.org']);
      }
    }
  });

  test('has each dependency at the exact version that package.json names', () => {
    const wanted = { ...manifest.dependencies, ...manifest.devDependencies };
    for (const [name, version] of Object.entries(wanted)) {
      expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+$/)]);
      expect([name, lock.packages[`node_modules/${name}`]?.version]).toEqual([name, version]);
    }
  });

  test('allows an install script only to node, which is the only package that has one', () => {
    const scripted = entries.filter(([, { hasInstallScript }]) => hasInstallScript);
    expect(scripted.map(([path]) => nameOf(path))).toEqual(['node']);
    expect(manifest.allowScripts).toEqual({ node: true });
    for (const folder of ['test/mcp/programs', 'test/lighthouse/program', 'test/checkers/program']) {
      expect(read(`${folder}/.npmrc`)).toBe('ignore-scripts=true\n');
    }
  });
});

describe('bin/check-node.cjs, for the Node.js that the package `node` downloads', () => {
  const check = read('bin/check-node.cjs');

  /** Runs the check in a folder with this binary. The Node.js of npm executes it, which is the current one here. */
  function checkIn(binary: Buffer | undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'check-node-'));
    const installed = join(folder, 'node_modules/node/bin/node');
    mkdirSync(join(folder, 'bin'));
    mkdirSync(dirname(installed), { recursive: true });
    writeFileSync(join(folder, 'bin/check-node.cjs'), check);
    if (binary !== undefined) writeFileSync(installed, binary);
    const ran = spawnSync(process.execPath, ['bin/check-node.cjs'], {
      cwd: folder,
      encoding: 'utf8',
    });
    const isLeft = existsSync(installed);
    rmSync(folder, { recursive: true });
    return { status: ran.status, stderr: ran.stderr, isLeft };
  }

  test('runs after npm ci, with the Node.js that npm uses, also in the container', () => {
    expect(manifest.scripts.postinstall).toBe(
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the shell’s
      '"${npm_node_execpath:-node}" bin/check-node.cjs',
    );
    const [before = ''] = read('deploy/Dockerfile').split('RUN npm ci');
    expect(before).toContain('COPY bin/check-node.cjs ./bin/check-node.cjs');
    expect(check).toContain(`packages of ${manifest.dependencies.node}, by platform`);
    expect(check.match(/^ {2}'(darwin|linux) (arm64|x64)': '[0-9a-f]{64}',$/gm)).toHaveLength(4);
  });

  test('accepts the installed Node.js, because its digest is listed', () => {
    const binary = readFileSync(join(project, 'node_modules/node/bin/node'));
    expect(checkIn(binary)).toEqual({ status: 0, stderr: '', isLeft: true });
    expect(checkIn(undefined)).toEqual({ status: 0, stderr: '', isLeft: false });
  });

  test('ends the installation and removes the binary if its digest differs', () => {
    const { status, stderr, isLeft } = checkIn(Buffer.from('#!/bin/sh\n'));
    expect([status, isLeft]).toEqual([1, false]);
    expect(stderr).toMatch(/^The Node\.js that npm installed for [^\n]* this check removed the file\.[^\n]*\n$/);
  });
});

describe('licences', () => {
  test('every package that runs in production has a permissive licence', () => {
    const others = runtime.filter(([, { license = 'none' }]) => !PERMISSIVE.has(license));
    expect(others.map(([path, { license }]) => `${path}: ${license}`)).toEqual([]);
  });

  test('docs/dependencies.md lists name, version and licence of every package that runs in production', () => {
    const installed = runtime.map(([path, { version, license }]) => `${nameOf(path)} ${version} ${license}`);
    expect([...documented].sort()).toEqual([...new Set(installed)].sort());
  });

  test('npm sbom names the same licences, and marks packages that are only for development', () => {
    const command = 'npm sbom --package-lock-only --sbom-type application --sbom-format cyclonedx';
    expect(read('SECURITY.md')).toContain(`\n${command} > sbom.json\n`);
    const [npm = '', ...argv] = command.split(' ');
    const bill: Bill = JSON.parse(
      execFileSync(npm, argv, {
        cwd: project,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }),
    );
    expect([bill.bomFormat, bill.components.length > documented.length]).toEqual(['CycloneDX', true]);
    const listed = bill.components
      .filter(({ properties }) => properties.every(({ name }) => !name.endsWith(':development')))
      .map(({ name, version, licenses: [first] }) => {
        const licence = first?.license?.id ?? first?.expression;
        return `${name} ${version} ${licence}`;
      });
    expect([...new Set(listed)].sort()).toEqual([...documented].sort());
  });
});
