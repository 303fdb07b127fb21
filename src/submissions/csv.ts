/** Records of RFC 4180, safe to open in a spreadsheet. */

/** What a spreadsheet takes for a formula, or skips before one: full-width forms, and behind what no font shows. */
const FORMULA =
  /^(?:[\t\r\n\0]|[\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\u2800\u{13441}\u{13442}\u{1D159}]*[=+\-@＝＋－＠])/u;
const NEEDS_QUOTES = /[",\r\n]/;

/** One record; what is null or undefined is an empty cell. */
export function csvRecord(cells: readonly (string | null | undefined)[]): string {
  return `${cells.map((cell) => csvCell(cell ?? '')).join(',')}\r\n`;
}

function csvCell(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
