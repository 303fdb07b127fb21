/** Local mode: messages as files that any mail program opens (contract §2). */
import { chmod, mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import type { Sender } from '../settings/sender.ts';
import {
  addressed,
  type Mailer,
  type Message,
  notAnAddress,
  reasonOf,
  type SendResult,
} from './mail.ts';

export type FilesMailerOptions = { folder: string; from: Sender; clock: Clock };

/**
 * Writes each message to `folder`, which is made with the first one. The file is named after the
 * `Message-ID`, so a message that is sent again replaces itself.
 */
export function openFilesMailer(options: FilesMailerOptions): Mailer {
  const { folder, from, clock } = options;

  async function send(message: Message): Promise<SendResult> {
    const mail = addressed(from, message, clock.now());
    if (mail === undefined) return notAnAddress;
    try {
      // Loaded with the first message: a cold start pays for what it uses.
      const { createTransport } = await import('nodemailer');
      const transport = createTransport({
        streamTransport: true,
        buffer: true,
        newline: 'windows',
      });
      const written = await transport.sendMail(mail);
      await write(folder, fileName(message.messageId), written.message as Buffer);
      return { kind: 'sent' };
    } catch (error) {
      return { kind: 'refused', permanent: false, reason: reasonOf(error) };
    }
  }
  return { send, close: async () => {} };
}

/** A message has an address in it: nobody but the owner reads the folder or the file. */
async function write(folder: string, name: string, message: Buffer): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  const temporary = join(folder, `.${name}.part`);
  await rm(temporary, { force: true });
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(message);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, join(folder, name));
}

/** Takes `<unique@host>`; returns `unique.eml`. */
function fileName(messageId: string): string {
  return `${messageId.replace(/@.*/s, '').replace(/[^A-Za-z0-9-]/g, '')}.eml`;
}
