/** Questions whose answers are shown when they are pressed: without a script, and found by the browser's own search. */

const QUESTION = '<h3 ';
const ANSWER = '</h3>\n';

/** Takes the HTML of a page's text; returns it with what stands under each heading of the third level folded. */
export function folded(html: string): string {
  // Only a heading of ours, and the end of a section, read so: text has no `<`.
  const parts = html.split(/(?=<h3 |<\/section>)/);
  return parts.map((part) => (part.startsWith(QUESTION) ? fold(part) : part)).join('');
}

function fold(part: string): string {
  const [question, ...answer] = part.split(ANSWER);
  return `<details>\n<summary>${question}</h3></summary>\n${answer.join(ANSWER)}</details>\n`;
}
