/** Content negotiation of pages by the `Accept` header (RFC 9110 §12.5.1). */
import { memoizeLast } from '../platform/lazy.ts';

/** Quality of a media type, and whether the header names it instead of covering it by a wildcard. */
type Match = { quality: number; named: boolean };

const RANGE = /^\s*([^\s;/]+)\/([^\s;]+)\s*(;.*)?$/;
const QUALITY = /;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*(?:;|$)/i;

/**
 * Returns true if an `Accept` header prefers Markdown to HTML, or names Markdown with the same quality as HTML. No
 * browser names Markdown, and a wildcard alone gets the page for people.
 */
export const prefersMarkdown = memoizeLast((accept: string | undefined): boolean => {
  if (accept === undefined || accept.trim() === '') return false;
  const markdown = matchOf(accept, 'markdown');
  const html = matchOf(accept, 'html');
  if (markdown.quality === 0) return false;
  return markdown.quality > html.quality || (markdown.named && markdown.quality === html.quality);
});

/** Returns the match of the most specific range that covers `text/<subtype>`. */
function matchOf(accept: string, subtype: string): Match {
  const ranges = new Map<string, number>();
  for (const part of accept.split(',')) {
    const [, type = '', sub = '', parameters = ''] = RANGE.exec(part.toLowerCase()) ?? [];
    // A malformed quality counts as 1, like a missing quality.
    ranges.set(`${type}/${sub}`, Number(QUALITY.exec(parameters)?.[1] ?? 1));
  }
  const named = ranges.get(`text/${subtype}`);
  if (named !== undefined) return { quality: named, named: true };
  return { quality: ranges.get('text/*') ?? ranges.get('*/*') ?? 0, named: false };
}
