/**
 * Words in what people typed (beyond §7): looked for in the newest 10,000 of what is filtered. The database passes
 * over most rows by the letters of the words that it compares as everybody does; what is left is read and judged.
 */
import type { Storage } from '../storage/database.ts';
import type { Event } from '../upstream/upstream.ts';
import { type Cursor, eventsOf, type Filter, keysOf } from './listing-queries.ts';
import { inTurn, newestPieces, preparePiece, type Reading, withoutTimes } from './pieces.ts';
import { isFound, type Search } from './search.ts';

const WORDS_ROWS = 10_000;
/** Each may have to be read and judged. */
const PIECE_ROWS = 500;

/** For whoever reads on, or looks again, while nothing has come: the last search of each store. */
const KEPT_MS = 10_000;
const lastOf = new WeakMap<Storage, { of: string; until: number; words: Promise<FoundWords> }>();

/** The places of all that is found, newest first; and, where there may be older rows, the last that was looked at. */
export type FoundWords = { found: readonly Cursor[]; end: Cursor | undefined };

export async function findWords(
  reading: Reading,
  filter: Filter,
  search: Search & { kind: 'words' },
): Promise<FoundWords> {
  const { storage, clock } = reading;
  const newest = await storage.read(keysOf(storage, {}, { direction: 'desc', limit: 1 }));
  const of = JSON.stringify([filter, search, newest]);
  const last = lastOf.get(storage);
  if (last !== undefined && last.of === of && clock.monotonic() < last.until) return last.words;
  const words = findAnew(reading, filter, search);
  // What has another status by now is in another list.
  if (filter.status !== undefined) return words;
  lastOf.set(storage, { of, until: clock.monotonic() + KEPT_MS, words });
  words.catch(() => lastOf.delete(storage));
  return words;
}

/** Where something of what was found is gone: it is looked for anew. False where nothing was kept. */
export function forgetWords(storage: Storage): boolean {
  return lastOf.delete(storage);
}

async function findAnew(
  reading: Reading,
  filter: Filter,
  search: Search & { kind: 'words' },
): Promise<FoundWords> {
  const { storage } = reading;
  const mentions = search.words.flatMap(comparableIn);
  const isWanted = ({ event }: { event: string }) => isFound(search, fieldsOf(event));
  const found: Cursor[] = [];
  let end: Cursor | undefined;
  const wanted = { ...withoutTimes(filter), mentions };
  const eventsIn = preparePiece(storage, (piece) =>
    eventsOf(storage, wanted, { ...piece, direction: 'desc', limit: WORDS_ROWS }),
  );
  // PostgreSQL runs elsewhere: two more questions, and the plans of both, would cost more than the rows.
  const rows = storage.kind === 'postgres' ? WORDS_ROWS : PIECE_ROWS;
  const pieces = newestPieces(reading, filter, { rows, atMost: WORDS_ROWS });
  for await (const { piece, end: last } of pieces) {
    const events = await inTurn(reading, () => storage.read(eventsIn(piece)));
    for (let from = 0; from < events.length; from += PIECE_ROWS) {
      const some = events.slice(from, from + PIECE_ROWS);
      const judged = await inTurn(reading, async () => some.filter(isWanted));
      found.push(...judged.map(({ received_ms, id }) => ({ received_ms, id })));
    }
    end = last;
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
