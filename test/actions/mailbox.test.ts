import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { mailboxDigests } from '../../src/actions/mailbox.ts';

test.each([32, 64, 65, 200])('with a key of %i bytes it is the HMAC of RFC 2104', (length) => {
  const keys = [Buffer.alloc(length, 7), Buffer.alloc(32, 8)];
  const wanted = keys.map((key) =>
    createHmac('sha256', key).update('lead-intake mailbox v1\nada@example.com').digest('hex'),
  );
  for (const email of ['ada@example.com', 'Ada+tag@example.com']) {
    expect(mailboxDigests(keys, email)).toEqual(wanted);
  }
  expect(mailboxDigests(keys, 'bob@example.com')).not.toEqual(wanted);
});
