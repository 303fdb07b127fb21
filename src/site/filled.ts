import { isolated } from './direction.ts';

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

/** The same for a page of that language: a name that goes another way turns round nothing that stands beside it. */
export function filledIn<W extends object>(
  words: W,
  values: Record<string, string>,
  lang: string,
): W {
  const pairs = Object.entries(values).map(([name, value]) => [name, isolated(value, lang)]);
  return filled(words, Object.fromEntries(pairs));
}
