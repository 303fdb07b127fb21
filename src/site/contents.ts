/** The contents of a long page: its headings as links, at the side where there is room (beyond §8). */
import { renderTemplate } from './templates.ts';
import type { Words } from './words.ts';

/** A heading that can be linked to. */
export type Heading = { level: 2 | 3; id: string; text: string };

/** More than a reader takes in at a glance: such a section is listed by its own heading alone. */
const MOST_UNDER_ONE = 12;

/** Takes the headings in their order and the words; returns HTML. */
export function renderContents(
  headings: readonly Heading[],
  words: Words['documentation'],
): string {
  const entries: (Heading & { under: Heading[] })[] = [];
  for (const heading of headings) {
    const last = entries.at(-1);
    if (heading.level === 2 || last === undefined) entries.push({ ...heading, under: [] });
    else last.under.push(heading);
  }
  for (const entry of entries) if (entry.under.length > MOST_UNDER_ONE) entry.under = [];
  return renderTemplate('contents', { entries, words });
}
