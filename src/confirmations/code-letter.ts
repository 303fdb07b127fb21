/** The message with a code (beyond §4): it names client, destination and action, and nothing that was typed. */

import type { Clock } from '../clock.ts';
import { bounds } from '../forms/bounds.ts';
import { findForm } from '../forms/catalog.ts';
import type { Render } from '../mail/messages.ts';
import type { Settings } from '../settings/settings.ts';
import type { SigningKeys } from '../settings/signing-keys.ts';
import type { Confirmations } from './confirmations.ts';
import { codeOf } from './secrets.ts';

type LetterParts = Pick<Settings, 'operator' | 'baseUrl'> & {
  confirmations: Confirmations;
  signingKeys: SigningKeys;
  clock: Clock;
};

/** Takes what finds a confirmation; what has ended, was erased or is replaced says nothing. */
export function codeRenderer(parts: LetterParts): Render {
  const { confirmations, signingKeys, clock, operator, baseUrl } = parts;
  return async ({ key }) => {
    const [id = '', number = ''] = key.split('.');
    const found = await confirmations.find(id);
    if (found === undefined || found.execution.status !== 'asked' || found.email === null) {
      return undefined;
    }
    const { client, destination, email: address, code_number, code_expires_at: ends } = found;
    const isOver = ends === null || clock.now().toISOString() >= ends;
    if (isOver || String(code_number) !== number) return undefined;
    const purpose = findForm(found.action)?.purpose ?? found.action;
    return {
      address,
      subject: `Your code for ${operator.name}`,
      text: `${codeOf(signingKeys, id, code_number)} is your code. It is good for ${bounds.codeLifetimeMinutes} minutes.

${client} wants to send your details to ${destination}.
What for: ${purpose}

Only continue if you asked ${client} to do this. If you did not, do
nothing, or open the page and press "I did not ask for this". Never
tell anybody the code, and type it on this site alone:
${baseUrl}

This message was sent automatically because somebody asked for a code
on that page.

${operator.name}
`,
    };
  };
}
