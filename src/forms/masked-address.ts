const MASK = '•••';

/** As the owner knows it again, and nobody else reads it. */
export function maskedAddress(email: string): string {
  const [local = '', domain = ''] = email.split('@');
  const end = domain.split('.').at(-1) ?? '';
  return `${local.slice(0, 1)}${MASK}@${domain.slice(0, 1)}${MASK}.${end}`;
}
