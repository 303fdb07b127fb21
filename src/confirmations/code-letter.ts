/** The message with a code (beyond §4), in the operator's language: client, destination, action, and nothing that was typed. */

import type { Clock } from '../clock.ts';
import { bounds } from '../forms/bounds.ts';
import { findForm } from '../forms/catalog.ts';
import type { Render } from '../mail/messages.ts';
import type { Settings } from '../settings/settings.ts';
import type { SigningKeys } from '../settings/signing-keys.ts';
import type { ConfirmWords } from '../site/confirm-words.ts';
import { filled } from '../site/filled.ts';
import { type Confirmations, isCodeOut } from './confirmations.ts';
import { codeOf } from './secrets.ts';

type LetterParts = Pick<Settings, 'operator' | 'baseUrl'> & {
  confirmations: Confirmations;
  signingKeys: SigningKeys;
  clock: Clock;
  words: () => ConfirmWords;
};

/** Takes what finds a confirmation; what has ended, was erased or is replaced says nothing. */
export function codeRenderer(parts: LetterParts): Render {
  const { confirmations, signingKeys, clock, words, operator, baseUrl } = parts;
  return async ({ key }) => {
    const [id = '', number = ''] = key.split('.');
    const found = await confirmations.find(id);
    if (found === undefined || found.execution.status !== 'asked' || found.email === null) {
      return undefined;
    }
    const { client, destination, email: address, code_number } = found;
    if (!isCodeOut(found, clock.now()) || String(code_number) !== number) return undefined;
    const { message, purposes } = words();
    const form = findForm(found.action);
    const letter = filled(message, {
      code: codeOf(signingKeys, id, code_number),
      minutes: String(bounds.codeLifetimeMinutes),
      purpose: form === undefined ? found.action : purposes[form.name],
      client,
      destination,
      operator: operator.name,
      site: baseUrl,
    });
    return { address, ...letter };
  };
}
