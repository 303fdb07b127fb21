/**
 * How a mailbox is known without being kept (beyond §4): a keyed digest of the lower-cased address without its
 * plus-tag. Under each of the keys, for the one that was the first when it was kept may not be it any more.
 */
import { createHmac } from 'node:crypto';
import { mailboxOf } from '../mail/daily-cap.ts';
import type { SigningKeys } from '../settings/signing-keys.ts';

const PURPOSE = 'lead-intake mailbox v1\n';

/** Takes an address; returns its digests, hex: the first is the one to keep. */
export function mailboxDigests(keys: SigningKeys, email: string): string[] {
  const mailbox = PURPOSE + mailboxOf(email.toLowerCase());
  return keys.map((key) => createHmac('sha256', key).update(mailbox).digest('hex'));
}
