/** The text that an operator sees on a page, for the tests of `src/console`. */

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ' };

/** Parts of a row of a list, which the stylesheet shows as columns. */
const COLUMN = /<span class="(about|when|status)\b[^>]*>/g;

/** Elements that stay in the line of the text around them. */
const INLINE = /<\/?(a|abbr|b|bdi|code|em|i|kbd|q|s|small|span|strong|time|wbr)(?=[\s/>])[^>]*>/g;

/**
 * Returns the lines of text in `<main>`, or in the whole text if it has no `<main>`. Each block, cell, label and
 * button starts a line, and so does each column of a row.
 */
export function visibleText(html: string): string[] {
  const main = /<main[^>]*>([\s\S]*)<\/main>/.exec(html)?.[1] ?? html;
  return main
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/\s+/g, ' ')
    .replace(COLUMN, '<td>')
    .replace(INLINE, '')
    .replace(/<[^>]+>/g, '\n')
    .replace(/&(#39|\w+);/g, (whole, name: string) => ENTITIES[name] ?? whole)
    .split('\n')
    .map((line) => line.replace(/ +/g, ' ').trim())
    .filter((line) => line !== '');
}
