/** Which mailer the settings ask for. */
import { type Clock, systemClock } from '../clock.ts';
import { parseSender } from '../settings/sender.ts';
import type { Settings } from '../settings/settings.ts';
import { openFilesMailer } from './files.ts';
import type { Mailer } from './mail.ts';

/** Takes the settings; returns the mailer, or undefined where no mail is configured. */
export async function openMailer(
  settings: Settings,
  clock: Clock = systemClock,
): Promise<Mailer | undefined> {
  const { mail } = settings;
  if (mail.kind === 'none') return undefined;
  const from = parseSender(mail.from);
  if (mail.kind === 'files') return openFilesMailer({ folder: mail.folder, from, clock });
  const { openSmtpMailer } = await import('./smtp.ts');
  return await openSmtpMailer({ url: mail.url, from, clock });
}
