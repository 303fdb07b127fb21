/**
 * Matches controls, line breaks, lone surrogates, and all characters that a terminal may not show. The group contains
 * characters that writing needs, so that they stay unchanged. These are joiners behind a character that is not Latin (an
 * emoji's U+FE0F may be between), and variation selectors behind the character that they change.
 */
const HIDDEN_OR_NEEDED =
  /((?<=[^\p{ASCII}\p{Script=Latin}\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]\uFE0F?)[\u200C\u200D]|(?<=[^\p{ASCII}\p{Script=Latin}\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]|[0-9#*])[\u180B-\u180D\u180F\uFE00-\uFE0F]|(?<=\p{Script=Han})[\u{E0100}-\u{E01EF}])|[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB\u{13430}-\u{1343F}]/gu;

/**
 * Returns one line of text in which no character controls a terminal or is hidden. Such characters become escapes such
 * as `\u001b`, so that JSON keeps its value. A second call changes nothing.
 */
export function printable(text: string): string {
  return text.replace(HIDDEN_OR_NEEDED, (found, needed?: string) => needed ?? escaped(found));
}

/** Returns a text of several lines in which each line is `printable`. */
export function printableLines(text: string, lineEnd = '\n'): string {
  return text.split(lineEnd).map(printable).join('\n');
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
