/** The mailer of local mode: writes messages as files, which any mail program opens (reference §11.3). */
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../platform/clock.ts';
import type { Sender } from '../settings/groups.ts';
import { type Mailer, openSend } from './mail.ts';

/**
 * Writes each message to `folder`, which the first message creates. The file is named after the `Message-ID`, so a
 * message that is sent again replaces itself.
 */
export function openFilesMailer(options: { folder: string; from: Sender; clock: Clock }): Mailer {
  const send = openSend(options, async (mail) => {
    // The library is loaded for the first message, because a start does not need it.
    const { createTransport } = await import('nodemailer');
    const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
    const written = await transport.sendMail(mail);
    const unique = `${mail.messageId}`.replace(/@.*/s, '').replace(/[^A-Za-z0-9-]/g, '');
    await write(options.folder, `${unique}.eml`, written.message as Buffer);
  });
  return { send, close: async () => {} };
}

/** Only the owner can read the folder and the file, because a message contains an address. */
async function write(folder: string, name: string, message: Buffer): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  const temporary = join(folder, `.${name}.part`);
  await rm(temporary, { force: true });
  await writeFile(temporary, message, { flag: 'wx', mode: 0o600, flush: true });
  await rename(temporary, join(folder, name));
}
