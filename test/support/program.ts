import { join, resolve } from 'node:path';

/** The project's folder. */
export const project = resolve(import.meta.dirname, '../..');

/** Program that process tests start: the sources, or the bundle with `PROGRAM=dist/service.js`. */
export const program = join(project, process.env.PROGRAM ?? 'bin/service.js');

const { PATH = '', __STRYKER_ACTIVE_MUTANT__: mutant } = process.env;

/** Environment of each process of the program. A mutation test names its mutant there (`npm run mutate`). */
export const programEnvironment: Record<string, string> = {
  PATH,
  ...(mutant === undefined ? {} : { __STRYKER_ACTIVE_MUTANT__: mutant }),
};
