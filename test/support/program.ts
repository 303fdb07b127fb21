import { join, resolve } from 'node:path';

/** The project's folder. */
export const project = resolve(import.meta.dirname, '../..');

/** Program that process tests start: the sources, or the bundle with `PROGRAM=dist/service.js`. */
export const program = join(project, process.env.PROGRAM ?? 'bin/service.js');
