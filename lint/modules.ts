/**
 * Lists the modules of `src`, lowest first. A module imports only from those before it, types included, so that folders
 * never form a cycle. A file in the root is a module of its own. `npm run check` runs this in the project's folder.
 */
import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const modules = [
  // Basics: time, random values, DNS lookups, jobs, log, metrics and shutdown. Files of the project, and the list of
  // the routes.
  'platform',
  'project.ts',
  'route-groups.ts',
  'routes.ts',
  // Forms that may be submitted, all refusals, and the HTTP protocol.
  'forms',
  'failures',
  'http',
  // Settings and storage.
  'settings',
  'storage',
  // The domain: deliveries to the upstream, e-mail, credentials and limits.
  'upstream',
  'submissions',
  'mail',
  'notices',
  'credentials',
  'limits',
  // Fastify, and the modules that have routes.
  'server',
  'actions',
  'site',
  'newsletter',
  'intake',
  'confirmations',
  'sandbox',
  'discovery',
  'receipts',
  'oauth',
  'mcp',
  'console',
  // The process and its commands.
  'start',
  'commands',
  'compose.ts',
  'app.ts',
  'main.ts',
];

const IMPORTED = /(?:\bfrom|\bimport|\bimport\(|\brequire\()\s*['"](\.[^'"]+)['"]/g;

const moduleOf = (path: string) => path.split('/', 1)[0] ?? '';

/** Returns why one import is wrong, or undefined. Both paths are relative to `src`. */
function faultOf(from: string, to: string): string | undefined {
  if (to.startsWith('..')) return 'leaves src';
  if (moduleOf(from) === moduleOf(to)) {
    return to.endsWith('/routes.ts') ? 'imports routes, which app.ts alone does' : undefined;
  }
  if (!modules.includes(moduleOf(to))) return 'goes to a module that is not in the list';
  if (modules.indexOf(moduleOf(to)) > modules.indexOf(moduleOf(from))) return 'runs back up';
  if (to.endsWith('/routes.ts') && from !== 'app.ts') {
    return 'imports routes, which app.ts alone does';
  }
  return undefined;
}

const faults = globSync('src/**/*.ts').flatMap((path) => {
  const from = relative('src', path);
  if (!modules.includes(moduleOf(from))) return [`${path}: its module is not in the list`];
  return [...readFileSync(path, 'utf8').matchAll(IMPORTED)].flatMap(([, specifier = '']) => {
    const to = join(from, '..', specifier);
    const fault = faultOf(from, to);
    return fault === undefined ? [] : [`${path}: the import of ${specifier} ${fault}`];
  });
});

for (const fault of faults) console.error(`${fault} (lint/modules.ts)`);
if (faults.length > 0) process.exitCode = 1;
