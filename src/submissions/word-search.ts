/**
 * Words in what people typed (beyond §7): looked for in the newest 10,000 of what is filtered. The database passes
 * over most rows by the letters of the words that it compares as everybody does; what is left is read and judged.
 */
import type { Event } from '../upstream/upstream.ts';
import { type Cursor, type Filter, keysOf, rowsAt } from './listing-queries.ts';
import { piecesOf, type Reading } from './pieces.ts';
import { isFound, type Search } from './search.ts';

const WORDS_ROWS = 10_000;
const PIECE_ROWS = 1_000;
/** So many are read at once. */
const READ_ROWS = 250;

/** The places of all that is found, newest first; and, where there may be older rows, the last that was looked at. */
export async function findWords(
  reading: Reading,
  filter: Filter,
  search: Search & { kind: 'words' },
): Promise<{ found: Cursor[]; end: Cursor | undefined }> {
  const { storage, clock } = reading;
  const mentions = search.words.flatMap(comparableIn);
  const found: Cursor[] = [];
  let end: Cursor | undefined;
  for await (const piece of piecesOf(reading, filter, { rows: PIECE_ROWS, atMost: WORDS_ROWS })) {
    const part = { ...piece, direction: 'desc', limit: WORDS_ROWS } as const;
    const keys = await storage.read(keysOf(storage, { ...filter, mentions }, part));
    for (let from = 0; from < keys.length; from += READ_ROWS) {
      const some = keys.slice(from, from + READ_ROWS);
      const rows = await storage.read(rowsAt(some));
      const isOne = new Set(
        rows.filter(({ event }) => isFound(search, fieldsOf(event))).map(({ id }) => id),
      );
      found.push(...some.filter(({ id }) => isOne.has(id)));
      await clock.turn();
    }
    end = piece.end;
  }
  return { found, end };
}

/**
 * The longest piece of a word that both databases compare as JavaScript does, as it stands in JSON: of ASCII. None
 * where a letter before it would have been another's in lower case, as of the Turkish I.
 */
function comparableIn(word: string): string[] {
  if (word.includes('\u0307')) return [];
  const pieces =
    JSON.stringify(word)
      .slice(1, -1)
      .match(/[ -~]+/g) ?? [];
  const longest = pieces.reduce((one, other) => (other.length > one.length ? other : one), '');
  return longest === '' ? [] : [longest];
}

function fieldsOf(event: string) {
  return (JSON.parse(event) as Event).data.fields;
}
