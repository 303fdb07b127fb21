/** Which representation of a page an `Accept` header asks for (RFC 9110 §12.5.1). */

import { keepingLast } from '../once.ts';

/** How well a media type matches: its quality, and whether it is named, not covered by a wildcard. */
type Match = { quality: number; named: boolean };

const RANGE = /^\s*([^\s;/]+)\/([^\s;]+)\s*(;.*)?$/;
const QUALITY = /;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*(?:;|$)/i;

/**
 * Takes an `Accept` header; returns whether Markdown is wanted. It has to be wanted more than HTML,
 * or named and wanted as much: no browser names it, and a wildcard alone gets the page for people.
 */
export const prefersMarkdown = keepingLast((accept: string | undefined): boolean => {
  if (accept === undefined || accept.trim() === '') return false;
  const markdown = matchOf(accept, 'markdown');
  const html = matchOf(accept, 'html');
  if (markdown.quality === 0) return false;
  return markdown.quality > html.quality || (markdown.named && markdown.quality === html.quality);
});

/** The most specific range that covers `text/<subtype>` decides, wherever it stands. */
function matchOf(accept: string, subtype: string): Match {
  const ranges = new Map<string, number>();
  for (const part of accept.split(',')) {
    const [, type = '', sub = '', parameters = ''] = RANGE.exec(part.toLowerCase()) ?? [];
    ranges.set(`${type}/${sub}`, qualityOf(parameters));
  }
  const named = ranges.get(`text/${subtype}`);
  if (named !== undefined) return { quality: named, named: true };
  return { quality: ranges.get('text/*') ?? ranges.get('*/*') ?? 0, named: false };
}

/** One that can't be read counts as none, and so as 1. */
function qualityOf(parameters: string): number {
  return Number(QUALITY.exec(parameters)?.[1] ?? 1);
}
