/** Tags in the e-mail address that decide how a test of a sandbox client ends (reference §27.4, §27.5). */

/** Domains that nobody owns (RFC 2606). A tag counts only at one of them. */
const DOMAINS: readonly string[] = ['example.com', 'example.org', 'example.net'];

const OUTCOMES = ['rejected', 'limited', 'unconfirmed', 'slow'] as const;
const PRESSES = ['presses', 'declines'] as const;

export type OutcomeTag = (typeof OUTCOMES)[number];
export type PressTag = (typeof PRESSES)[number];

/** Returns the tag at the end of the local part, or undefined. Such an execution is submitted. */
export function outcomeTagOf(email: string): OutcomeTag | undefined {
  const last = tagsOf(email).at(-1);
  return OUTCOMES.find((tag) => tag === last);
}

/** Returns the tag that answers a confirmation automatically, or undefined. */
export function pressTagOf(email: string): PressTag | undefined {
  const tags = tagsOf(email);
  return PRESSES.find((tag) => tags.includes(tag));
}

/** Returns the parts behind each plus sign of a normalized address, which is in lower case, or none at another domain. */
function tagsOf(email: string): string[] {
  const [local = '', domain = ''] = email.split('@');
  return DOMAINS.includes(domain) ? local.split('+').slice(1) : [];
}
