/** What the keyboard of a telephone writes and offers in a field. */
import type { Field } from '../forms/catalog.ts';

/** By what browsers fill in: names begin with capitals, postal codes are of capitals alone. */
const CAPITALS: Readonly<Record<string, string>> = {
  name: 'words',
  organization: 'words',
  'postal-code': 'characters',
};

/** Takes a field, and whether the button follows it; returns attributes of its control. */
export function keyboardOf(field: Field, isLast: boolean): [string, string][] {
  const { kind, autocomplete = '' } = field;
  const attributes: [string, string][] = [];
  const capitals = CAPITALS[autocomplete];
  if (!isProse(field)) attributes.push(['spellcheck', 'false']);
  if (capitals !== undefined) attributes.push(['autocapitalize', capitals]);
  // In a field before the last, the key leads on by itself; in one of several lines it breaks the line.
  if (isLast && kind !== 'text') attributes.push(['enterkeyhint', 'send']);
  return attributes;
}

/** Addresses, numbers and codes are not for the spelling checker, which may send them elsewhere. */
function isProse(field: Field): boolean {
  return (field.kind === 'line' || field.kind === 'text') && field.autocomplete !== 'postal-code';
}
