/** Content negotiation by the `Accept` header (RFC 9110 §12.5.1): pages, and problem details. */
import { memoizeLast } from '../platform/lazy.ts';

/** Quality of a media type, and whether the header names it instead of covering it by a wildcard. */
type Match = { quality: number; named: boolean };

const RANGE = /^\s*([^\s;/]+\/[^\s;]+)\s*(;.*)?$/;
const QUALITY = /;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*(?:;|$)/i;

/**
 * Returns true if an `Accept` header prefers Markdown to HTML, or names Markdown with the same quality as HTML. No
 * browser names Markdown, and a wildcard alone gets the page for people.
 */
export const prefersMarkdown = memoizeLast((accept: string | undefined): boolean => {
  if (accept === undefined) return false;
  const markdown = matchOf(accept, 'text', 'markdown');
  const html = matchOf(accept, 'text', 'html');
  if (markdown.quality === 0) return false;
  return markdown.quality > html.quality || (markdown.named && markdown.quality === html.quality);
});

/**
 * Returns true if an `Accept` header names `application/problem+json` itself with a quality above 0. Most clients send
 * a wildcard without having chosen this type, so a wildcard does not count.
 */
export function namesProblemDetails(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const { quality, named } = matchOf(accept, 'application', 'problem+json');
  return named && quality > 0;
}

/** Returns the match of the most specific range that covers a media type. */
function matchOf(accept: string, wanted: string, subtype: string): Match {
  const ranges = new Map<string, number>();
  for (const part of accept.split(',')) {
    const [, range = '', parameters = ''] = RANGE.exec(part.toLowerCase()) ?? [];
    // A malformed quality counts as 1, like a missing quality.
    ranges.set(range, Number(QUALITY.exec(parameters)?.[1] ?? 1));
  }
  const named = ranges.get(`${wanted}/${subtype}`);
  if (named !== undefined) return { quality: named, named: true };
  return { quality: ranges.get(`${wanted}/*`) ?? ranges.get('*/*') ?? 0, named: false };
}
