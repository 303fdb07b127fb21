/** The words with what stands in their braces; what is put in is not read again. */
export function filled<W extends object>(words: W, values: Record<string, string>): W {
  const fill = (text: string) =>
    text.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
  const pairs = Object.entries(words).map(([name, text]) => [
    name,
    typeof text === 'string' ? fill(text) : text,
  ]);
  return Object.fromEntries(pairs) as W;
}
