/** The renderer of each kind of message (reference §11.1). */
import { codeRenderer } from '../confirmations/codes.ts';
import type { Confirmations } from '../confirmations/confirmations.ts';
import type { Credentials } from '../credentials/file.ts';
import { acknowledgementRenderer } from '../intake/acknowledgement.ts';
import type { Render } from '../mail/messages.ts';
import { confirmationRenderer } from '../newsletter/confirmation-mail.ts';
import type { Subscribers } from '../newsletter/subscribers.ts';
import type { Clock } from '../platform/clock.ts';
import { once } from '../platform/lazy.ts';
import type { Settings } from '../settings/settings.ts';
import type { SigningKeys } from '../settings/signing-keys.ts';
import type { Site } from '../site/site.ts';
import type { Storage } from '../storage/database.ts';
import type { MessageKind } from '../storage/operation-schema.ts';

type RendererParts = {
  site: Pick<Site, 'frame' | 'pages'>;
  storage: Storage;
  clock: Clock;
  confirmations: Confirmations;
  credentials: Pick<Credentials, 'labelOf'>;
  signingKeys: SigningKeys;
  subscribers: Subscribers;
  /** Renders the messages to the operator. */
  operatorMail: { render: Render };
};

/** Returns the function that renders a message of any kind. */
export function openRenderers(settings: Settings, parts: RendererParts): Render {
  const { site, storage, clock, subscribers, operatorMail } = parts;
  // The first sign-in mail loads the module, because a start loads only the paths of the console.
  const signIn = once(async () => {
    const { signInRenderer } = await import('../console/sign-in-mail.ts');
    return signInRenderer({ settings, storage, clock });
  });
  const renderers: Partial<Record<MessageKind, Render>> = {
    code: codeRenderer({ ...settings, ...parts, words: () => site.frame().words.confirm }),
    confirmation: confirmationRenderer({ ...settings, words: () => site.frame().words.newsletter }, subscribers),
    sign_in: async (row) => (await signIn())(row),
    acknowledgement: acknowledgementRenderer({ ...settings, site, storage }),
  };
  return (row) => (renderers[row.kind] ?? operatorMail.render)(row);
}
