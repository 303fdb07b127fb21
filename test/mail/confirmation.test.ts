import { expect, test } from 'vitest';
import { confirmationOf } from '../../src/mail/confirmation.ts';

const told = (removal: string) => `Hello,

this address was entered on our site, with consent to receive updates
from Paint Match:
https://paint.example

If that was you, there is nothing more to do.

If it was not you, somebody entered your address, perhaps by mistake.
${removal}

What we keep and for how long:
https://paint.example/privacy

This message was sent automatically, at most once in 24 hours.

Paint Match
`;

test.each([
  ['help@paint.example', 'To have it removed, tell us: help@paint.example'],
  [undefined, 'How to have it removed:\nhttps://paint.example/privacy'],
])(
  'a subscriber is told who sends, why, and how to be removed; the contact is %s',
  (contact, removal) => {
    const operator = { name: 'Paint Match', contact };
    expect(
      confirmationOf({ operator, baseUrl: 'https://paint.example' } as Parameters<
        typeof confirmationOf
      >[0]),
    ).toEqual({
      subject: 'Your subscription to updates from Paint Match',
      text: told(removal),
    });
  },
);
