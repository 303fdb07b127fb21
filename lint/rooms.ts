/**
 * The rooms of `src`, lowest first: a room imports only from those before it, types included, so no folders
 * can form a circle. A file in the root is a room of its own. `npm run check` runs it in the project's folder.
 */
import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const rooms = [
  // Time, chance, names of servers, what is made when first asked for; the list of the routes.
  'once.ts',
  'chance.ts',
  'clock.ts',
  'lookup.ts',
  'route-groups.ts',
  'routes.ts',
  // What may be submitted, every way to say no, the protocol.
  'forms',
  'failures',
  'http',
  // What the service is given, and what it stands on.
  'settings',
  'operations',
  'storage',
  // The domain: how a submission leaves, what is told by mail, who may call and how often.
  'upstream',
  'submissions',
  'mail',
  'notices',
  'credentials',
  'limits',
  // What runs Fastify, and the rooms that have routes.
  'server',
  'actions',
  'site',
  'newsletter',
  'intake',
  'confirmations',
  'discovery',
  'receipts',
  'mcp',
  'console',
  // The process and its commands.
  'start',
  'commands',
  'parts.ts',
  'app.ts',
  'main.ts',
];

const IMPORTED = /(?:\bfrom|\bimport|\bimport\(|\brequire\()\s*['"](\.[^'"]+)['"]/g;

const roomOf = (path: string) => path.split('/', 1)[0] ?? '';

/** What is wrong with one import, both by their paths within `src`; undefined where nothing is. */
function faultOf(from: string, to: string): string | undefined {
  if (to.startsWith('..')) return 'leaves src';
  if (roomOf(from) === roomOf(to)) {
    return to.endsWith('/routes.ts') ? 'imports routes, which app.ts alone does' : undefined;
  }
  if (!rooms.includes(roomOf(to))) return 'goes to a room that is not in the list';
  if (rooms.indexOf(roomOf(to)) > rooms.indexOf(roomOf(from))) return 'runs back up';
  if (to.endsWith('/routes.ts') && from !== 'app.ts') {
    return 'imports routes, which app.ts alone does';
  }
  return undefined;
}

const faults = globSync('src/**/*.ts').flatMap((path) => {
  const from = relative('src', path);
  if (!rooms.includes(roomOf(from))) return [`${path}: its room is not in the list`];
  return [...readFileSync(path, 'utf8').matchAll(IMPORTED)].flatMap(([, specifier = '']) => {
    const to = join(from, '..', specifier);
    const fault = faultOf(from, to);
    return fault === undefined ? [] : [`${path}: the import of ${specifier} ${fault}`];
  });
});

for (const fault of faults) console.error(`${fault} (lint/rooms.ts)`);
if (faults.length > 0) process.exitCode = 1;
