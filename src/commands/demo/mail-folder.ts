/** What local mode has written instead of sending it. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The subjects of the messages to an address, the oldest first; none while there is no folder. */
export function messagesTo(folder: string, address: string): string[] {
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => name.endsWith('.eml'));
  } catch {
    return [];
  }
  const byAge = names
    .map((name) => join(folder, name))
    .map((path) => ({ path, at: statSync(path).mtimeMs }))
    .sort((one, other) => one.at - other.at);
  return byAge.flatMap(({ path }) => {
    const [head = ''] = readFileSync(path, 'utf8').split('\r\n\r\n', 1);
    const lines = head.split('\r\n');
    if (!lines.includes(`To: ${address}`)) return [];
    return lines.filter((line) => line.startsWith('Subject: ')).map((line) => line.slice(9));
  });
}
