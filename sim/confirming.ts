/** A person's own press, over the real chains (beyond §4). */
import { type AskParts, askFor } from '../src/confirmations/ask.ts';
import type { Codes } from '../src/confirmations/codes.ts';
import { type Pressed, type PressParts, press } from '../src/confirmations/press.ts';
import { sealPage } from '../src/confirmations/secrets.ts';
import type { Rate } from '../src/limits/limits.ts';
import type { SigningKeys } from '../src/settings/signing-keys.ts';

export type Confirming = {
  ask(client: string, key: string, token: string): ReturnType<typeof askFor>;
  press(id: string, secret: string, button: 'send' | 'decline' | 'report'): Promise<Pressed>;
};

/** Nobody is mailed one here: codes have tests of their own. */
const noCodes: Codes = {
  mail: async () => ({ kind: 'changed' }),
  check: async () => ({ kind: 'changed', expired: false }),
};

/** Takes the parts as they are at each call, and the keys of that moment. */
export function openConfirming(
  parts: () => AskParts & Omit<PressParts, 'codes'>,
  keys: () => SigningKeys,
  plain: (body: object) => { takeFromLimit(): Promise<Rate> },
): Confirming {
  return {
    ask: (client, key, token) => askFor(parts(), { client, key, token, via: undefined }),
    // The page is opened, then pressed.
    press: (id, secret, button) => {
      const confirming = parts();
      return press(
        { ...confirming, codes: noCodes },
        {
          secret,
          takeFromLimit: plain({}).takeFromLimit,
          isFromOurPage: true,
          isSigned: false,
          readButton: async () =>
            button === 'send'
              ? { do: button, token: sealPage(keys(), id, confirming.clock.now()) }
              : { do: button },
          traceparent: undefined,
        },
      );
    },
  };
}
