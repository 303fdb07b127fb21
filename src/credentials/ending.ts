/** Clients that will soon be let in no more, for whoever watches (beyond §7). */
import { readFile } from 'node:fs/promises';
import { isExpired, parseClients } from './clients.ts';

export type EndingClient = { name: string; endsAt: string };

/**
 * Takes the credentials file; returns the clients whose last credential ends before that time, the first to end
 * first. None where the file can't be read: what is wrong with it stands in the state of the credentials.
 */
export async function endingClients(
  path: string | undefined,
  { now, before }: { now: Date; before: Date },
): Promise<EndingClient[]> {
  if (path === undefined) return [];
  const text = await readFile(path, 'utf8').catch(() => '');
  const parsed = parseClients(text);
  if (parsed.kind === 'invalid') return [];
  return parsed.file.clients
    .flatMap(({ name, credentials }) => {
      const ends = credentials
        .map(({ expires_at }) => expires_at)
        .filter((end) => !isExpired(end, now));
      const isSoon = ends.every((end) => end !== null && Date.parse(end) < before.getTime());
      if (ends.length === 0 || !isSoon) return [];
      const last = Math.max(...ends.map((end) => Date.parse(end ?? '')));
      return [{ name, endsAt: new Date(last).toISOString() }];
    })
    .sort((one, other) => Date.parse(one.endsAt) - Date.parse(other.endsAt));
}
