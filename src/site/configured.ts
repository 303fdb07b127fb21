/** What a deployment can't take (503, contract §4): said on its pages before anybody types. */
import type { Form } from '../forms/catalog.ts';
import type { Settings } from '../settings/settings.ts';

type Configuration = Pick<Settings, 'mode' | 'upstream' | 'mail' | 'previewSigningKeys'>;

/** Takes the settings and a form; returns whether what people send with it is taken. */
export function takesForm({ upstream, mail }: Configuration, form: Form): boolean {
  // A subscription is confirmed by mail (spec §4.7).
  const isConfirmed = form.name !== 'newsletter' || mail.kind !== 'none';
  return upstream.kind !== 'none' && isConfirmed;
}

/** Takes the settings; returns whether agents can preview and execute. Local mode makes its own key. */
export function takesActions({ mode, upstream, previewSigningKeys }: Configuration): boolean {
  return upstream.kind !== 'none' && (mode === 'local' || previewSigningKeys.length > 0);
}
