/**
 * The confirmation message of `/api/subscribe` (spec §4.7). It is made once, from settings alone: nothing that a
 * visitor typed is in it.
 */
import { pages } from '../routes.ts';
import type { Settings } from '../settings/settings.ts';
import type { Letter } from './mail.ts';

export type ConfirmationSettings = {
  operatorName: string;
  operatorContact: string | undefined;
  /** Without a trailing slash. */
  baseUrl: string;
};

/** Takes what the settings say of the operator; returns what every subscriber is told. */
export function confirmationMessage(settings: ConfirmationSettings): Letter {
  const { operatorName, operatorContact, baseUrl } = settings;
  const removal =
    operatorContact === undefined
      ? `How to have it removed:\n${baseUrl}${pages.privacy.path}`
      : `To have it removed, tell us: ${operatorContact}`;
  return {
    subject: `Your subscription to updates from ${operatorName}`,
    text: `Hello,

this address was entered on our site, with consent to receive updates
from ${operatorName}:
${baseUrl}

If that was you, there is nothing more to do.

If it was not you, somebody entered your address, perhaps by mistake.
${removal}

What we keep and for how long:
${baseUrl}${pages.privacy.path}

This message was sent automatically, at most once in 24 hours.

${operatorName}
`,
  };
}

/** The same, of the service's settings. */
export function confirmationOf({
  operator,
  baseUrl,
}: Pick<Settings, 'operator' | 'baseUrl'>): Letter {
  return confirmationMessage({
    operatorName: operator.name,
    operatorContact: operator.contact,
    baseUrl,
  });
}
