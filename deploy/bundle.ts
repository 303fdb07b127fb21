/** `npm run build` bundles the program and its packages into `dist/`, for the container image. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { rolldown } from 'rolldown';

const project = resolve(import.meta.dirname, '..');

const bundle = await rolldown({
  cwd: project,
  input: {
    service: 'bin/service.js',
    'sqlite-worker': 'src/storage/sqlite/sqlite-worker.ts',
  },
  platform: 'node',
  tsconfig: false,
  // Optional parts of `pg`, which the service never uses.
  external: ['pg-native', 'cloudflare:sockets'],
});
const { output } = await bundle.write({
  dir: join(project, 'dist'),
  cleanDir: true,
  sourcemap: true,
  minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
});

/** The folders of the packages whose modules are in the bundle. */
const packages = new Set<string>();
for (const chunk of output) {
  for (const id of chunk.type === 'chunk' ? chunk.moduleIds : []) {
    const folder = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0];
    if (folder !== undefined) packages.add(folder);
  }
}

const LICENCES = ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'license', 'LICENCE', 'License'];
const texts = [...packages].sort().map((folder) => {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = LICENCES.map((each) => join(folder, each)).find((path) => existsSync(path));
  return `${name} ${version} (${license})\n\n${file === undefined ? '' : readFileSync(file, 'utf8')}`;
});
writeFileSync(join(project, 'dist/LICENSES.txt'), texts.join(`\n${'-'.repeat(80)}\n`));
console.log(`dist: ${output.length} files, ${packages.size} packages`);
