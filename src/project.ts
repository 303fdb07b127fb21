/** Addresses of project files, the version of the service, and its `User-Agent` (reference §10.1). */
import { readFileSync } from 'node:fs';
import { once } from './platform/lazy.ts';

/**
 * Returns the address of a file that is read at run time, by its path in the project's folder. The bundle in `dist/` is
 * as deep in the project's folder as this file.
 */
export const projectFile = (path: string): URL => new URL(`../${path}`, import.meta.url);

/**
 * Returns the version in `package.json`. The file is read once, because an upgrade may replace it under a running
 * process.
 */
export const packageVersion = once((): string => {
  return JSON.parse(readFileSync(projectFile('package.json'), 'utf8')).version;
});

/** Returns the value of `User-Agent`. Firewalls of some receivers refuse requests without this header. */
export const userAgent = () => `lead-intake/${packageVersion()}`;
