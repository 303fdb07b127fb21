import { readFileSync } from 'node:fs';

/** The version of the service, from its package. */
export function packageVersion(): string {
  const path = new URL('../../package.json', import.meta.url);
  return JSON.parse(readFileSync(path, 'utf8')).version;
}
