/** The field that people never see (spec §4.6): a filled one is treated as success, and nothing is forwarded. */
export const HONEYPOT = 'bot-field';

/** Takes the values of a form body; returns whether anything is left in the honeypot after trimming. */
export function isHoneypotFilled(values: Readonly<Record<string, string>>): boolean {
  return (values[HONEYPOT] ?? '').trim() !== '';
}
