/** Addresses and telephone numbers that can be pressed. */

/** What a telephone dials; anything else in a number is for people to read. */
const DIALLED = /[^\d+*#,;]/g;

/** Takes the name and value of a field; returns where pressing it leads, or undefined where it is only text. */
export function linkOf(name: string, value: string): string | undefined {
  if (name === 'email') return `mailto:${encodeURIComponent(value).replaceAll('%40', '@')}`;
  if (name !== 'phone') return undefined;
  const number = value.replace(DIALLED, '');
  return /\d{3}/.test(number) ? `tel:${encodeURI(number).replaceAll('#', '%23')}` : undefined;
}
