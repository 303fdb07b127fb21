/** A real SMTP server that can be stopped and restarted. The server records the messages that it accepts. */
import { SMTPServer } from 'smtp-server';
import { freePort } from '../test/support/free-port.ts';
import { type Ledger, now } from './ledger.ts';

/** Time between the stop and the closing of connections, so that a 250 in transit arrives. */
const LAST_WORDS_MS = 300;

export type MailServer = {
  /** Returns the URL for an instance, which greets the server with its name. */
  urlFor(instance: string): string;
  start(): Promise<void>;
  stop(): Promise<void>;
};

/** Returns the server. The server is not started yet. */
export async function openMailServer(ledger: Ledger): Promise<MailServer> {
  const port = await freePort();
  let server: SMTPServer | undefined;

  function create(): SMTPServer {
    let stopping = false;
    const created = new SMTPServer({
      logger: false,
      disabledCommands: ['AUTH', 'STARTTLS'],
      authOptional: true,
      closeTimeout: 50,
      onData(stream, session, callback) {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          if (stopping) return; // a message without an answer was not accepted
          const head = Buffer.concat(chunks).toString('latin1').split('\r\n\r\n', 1)[0] ?? '';
          const messageId = /^message-id:\s*(\S+)/im.exec(head)?.[1] ?? 'none';
          const sender = session.hostNameAppearsAs;
          for (const { address } of session.envelope.rcptTo) {
            ledger.mails.push({ at: now(ledger), address, messageId, sender });
          }
          callback(null);
        });
      },
    });
    created.on('error', () => {});
    return Object.assign(created, {
      stopTaking: () => {
        stopping = true;
      },
    });
  }

  return {
    urlFor: (instance) => `smtp://127.0.0.1:${port}?name=${instance}`,
    start: async () => {
      const created = create();
      await new Promise<void>((resolve) => created.listen(port, '127.0.0.1', resolve));
      server = created;
    },
    stop: async () => {
      const stopped = server as (SMTPServer & { stopTaking(): void }) | undefined;
      if (stopped === undefined) return;
      server = undefined;
      stopped.stopTaking();
      stopped.server.close();
      await new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS));
      await new Promise<void>((resolve) => stopped.close(() => resolve()));
    },
  };
}
