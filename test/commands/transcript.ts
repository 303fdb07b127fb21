import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { runService, temporaryFolder } from './run-service.ts';

/** Returns the id of a row with this number from 1 to 9. The transcripts contain these ids. */
export const id = (number: number) => `0190a00${number}-0000-7000-8000-00000000000${number}`;

/** Opens a new database in the folder `data` of a new folder, and returns the folder. */
export async function folderWith(fill: (storage: Awaited<ReturnType<typeof openSqlite>>) => Promise<unknown>) {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'data'));
  const storage = await openSqlite(join(folder, 'data/service.db'), systemClock);
  await fill(storage);
  await storage.close();
  return folder;
}

/**
 * Runs the command lines of a file of `transcripts` one after another in a folder, and expects what the file has after
 * each of them. A command line follows `$ `, and may begin with variables such as `PORT=1` or end with `< ` and the text
 * for standard input. A line of standard error follows `! `, and a status other than 0 follows `= `.
 */
export async function expectTranscript(name: string, folder: string, environment: Record<string, string> = {}) {
  const path = join(import.meta.dirname, 'transcripts', `${name}.txt`);
  const parts: string[] = [];
  for (const line of readFileSync(path, 'utf8').match(/(?<=^\$ ).+/gm) ?? []) {
    const [typed = '', input = ''] = line.split(' < ');
    const words = (typed.match(/(?:"[^"]*"|\S)+/g) ?? []).map((word) => word.replaceAll('"', ''));
    const variables = words.filter((word) => /^[A-Z_]+=/.test(word)).map((word) => word.split(/=(.*)/s, 2));
    const { status, stdout, stderr } = await runService(words.slice(variables.length), {
      folder,
      environment: { DATA_DIR: join(folder, 'data'), ...environment, ...Object.fromEntries(variables) },
      input,
    });
    const said = stderr.replace(/^(?=.)/gm, '! ');
    parts.push(`$ ${line}\n${stdout}${said}${status === 0 ? '' : `= ${status}\n`}`);
  }
  await expect(withoutChance(parts.join('\n'), folder)).toMatchFileSnapshot(path);
}

const DAY_MS = 86_400_000;

/** Names what is random or differs from machine to machine, and writes the times of these days as days from now. */
export function withoutChance(text: string, folder: string): string {
  return text
    .replaceAll(folder, 'FOLDER')
    .replaceAll('\r', '\\r')
    .replaceAll('\uFEFF', '\\ufeff')
    .replace(/\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z/g, (time) => {
      const days = Math.round(((Date.parse(time) - Date.now()) / DAY_MS) * 10) / 10;
      return Math.abs(days) > 30 ? time : `NOW${days < 0 ? '' : '+'}${days === 0 ? 0 : days}d`;
    })
    .replace(/lia_\w{49}/g, 'TOKEN')
    .replace(/[\w-]{43}(?= signs)/g, 'KEY')
    .replace(/\d+(?= bytes, read)|(?<="bytes":)\d+/g, 'SIZE')
    .replace(/[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}/g, (id) => (/0{8}/.test(id) ? id : 'ID'));
}
