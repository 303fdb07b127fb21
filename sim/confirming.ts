/** Requests and answers confirmations through the real handlers (reference §6.11). */

import { partsFor } from '../src/actions/execute.ts';
import { type Answered, type AnswerParts, answerConfirmation } from '../src/confirmations/answer.ts';
import type { Codes } from '../src/confirmations/codes.ts';
import { type RequestParts, requestFor } from '../src/confirmations/request-confirmation.ts';
import { sealPage } from '../src/confirmations/tokens.ts';
import type { Rate } from '../src/limits/limits.ts';
import type { SigningKeys } from '../src/settings/signing-keys.ts';
import { TESTER } from './clients.ts';

export type Confirming = {
  ask(client: string, key: string, token: string): ReturnType<typeof requestFor>;
  press(id: string, secret: string, button: 'send' | 'decline' | 'report'): Promise<Answered>;
};

/** Codes that are never mailed, because other tests check the codes. */
const noCodes: Codes = {
  mail: async () => ({ kind: 'changed' }),
  check: async () => ({ kind: 'changed', expired: false }),
};

/**
 * Opens the handlers of confirmations. The handlers read the components and the keys at each call, because the keys
 * rotate.
 */
export function openConfirming(
  parts: () => RequestParts & Omit<AnswerParts, 'codes'>,
  keys: () => SigningKeys,
  plain: (body: object) => { takeFromLimit(): Promise<Rate> },
): Confirming {
  return {
    ask: (client, key, token) =>
      requestFor(partsFor(parts(), { sandbox: client === TESTER }), { client, key, token, via: undefined }),
    // The person opens the page, then clicks a button.
    press: (id, secret, button) => {
      const confirming = parts();
      return answerConfirmation(
        { ...confirming, codes: noCodes },
        {
          secret,
          takeFromLimit: plain({}).takeFromLimit,
          isFromOurPage: true,
          isSigned: false,
          readButton: async () =>
            button === 'send' ? { do: button, token: sealPage(keys(), id, confirming.clock.now()) } : { do: button },
          traceparent: undefined,
        },
      );
    },
  };
}
