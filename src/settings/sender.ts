/** `MAIL_FROM` (contract §2): an address, or `Name <address>`. */
export type Sender = { name: string; address: string };

const NAMED = /^([^<]*)<([^<>]*)>$/;

/** Takes the text, trimmed; returns its name, empty where there is none, and what stands for the address. */
export function parseSender(from: string): Sender {
  const [, name = '', address = from] = NAMED.exec(from) ?? [];
  return { name: name.trim().replace(/^"(.*)"$/s, '$1'), address };
}
