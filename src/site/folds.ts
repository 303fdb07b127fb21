/** Questions whose answers are shown when they are pressed: without a script, and found by the browser's own search. */

/** Only a heading of ours reads so: text has no `<`. */
const QUESTION = /(<h3 id="[^"]*">.*?<\/h3>)\n([\s\S]*?)(?=<h3 |<\/section>|$)/g;

/** Takes the HTML of a page's text; returns it with what stands under each heading of the third level folded. */
export function folded(html: string): string {
  return html.replace(QUESTION, '<details>\n<summary>$1</summary>\n$2</details>\n');
}
