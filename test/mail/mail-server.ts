import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import type { MailContent } from '../../src/mail/mail.ts';
import { confirmationMail } from '../../src/newsletter/confirmation-mail.ts';
import { parseSender, type Sender } from '../../src/settings/groups.ts';
import { defaultWords } from '../../src/site/words.ts';
import { cert, key } from '../support/certificate.ts';

type Received = {
  from: string;
  to: string[];
  raw: string;
  secure: boolean;
  /** Host name of the client's greeting. */
  greeting: string;
  /** Authentication method, or undefined without a sign-in. */
  signedIn: string | undefined;
};

export type MailServer = {
  url: string;
  port: number;
  /** Accepted messages, in order. */
  received: Received[];
  /** All recipients that clients offered, accepted or not. */
  offered: string[];
  connections(): number;
  close(): Promise<void>;
};

export type MailServerOptions = {
  port?: number;
  starttls?: boolean;
  /** Users and passwords. If undefined, no sign-in is needed. */
  users?: Record<string, string>;
  /** Reply to the sender. Undefined accepts it. */
  sender?: () => { code: number; text: string } | undefined;
  /** Reply to a recipient. Undefined accepts it, `stall` never replies. */
  recipient?: (address: string) => { code: number; text: string } | 'stall' | undefined;
  /** Reply to the message, whose bytes it gets. Undefined accepts the message, `drop` stores it and closes the connection. */
  data?: (raw: string) => { code: number; text: string } | 'drop' | undefined;
  /** Delays the reply to each complete message. */
  thinks?: () => Promise<void>;
};

/** Starts a real SMTP server in this process. */
export async function startMailServer(options: MailServerOptions = {}): Promise<MailServer> {
  const received: Received[] = [];
  const offered: string[] = [];
  const methods = new Map<string, string>();
  const { users } = options;
  const disabledCommands = [
    ...(users === undefined ? ['AUTH'] : []),
    ...(options.starttls === true ? [] : ['STARTTLS']),
  ];
  const settings: SMTPServerOptions = {
    logger: false,
    disabledCommands,
    authOptional: users === undefined,
    cert,
    key,
    allowInsecureAuth: true,
    closeTimeout: 50,
    onAuth(auth, session, callback) {
      methods.set(session.id, auth.method);
      const right = auth.username !== undefined && users?.[auth.username] === auth.password;
      callback(right ? null : reply({ code: 535, text: '5.7.8 no' }), { user: auth.username });
    },
    onMailFrom(_address, _session, callback) {
      const answer = options.sender?.();
      callback(answer === undefined ? null : reply(answer));
    },
    onRcptTo(address, _session, callback) {
      offered.push(address.address);
      const answer = options.recipient?.(address.address);
      if (answer === 'stall') return;
      callback(answer === undefined ? null : reply(answer));
    },
    onData(stream, session, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', async () => {
        await options.thinks?.();
        const raw = Buffer.concat(chunks).toString('utf8');
        const answer = options.data?.(raw);
        if (answer === undefined || answer === 'drop') {
          const { mailFrom, rcptTo } = session.envelope;
          received.push({
            from: mailFrom === false ? '' : mailFrom.address,
            to: rcptTo.map((recipient) => recipient.address),
            raw,
            secure: session.secure,
            greeting: session.hostNameAppearsAs,
            signedIn: methods.get(session.id),
          });
        }
        if (answer === 'drop') {
          for (const connection of server.connections) connection.close();
        } else callback(answer === undefined ? null : reply(answer));
      });
    },
  };
  const server = new SMTPServer(settings);
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    port,
    received,
    offered,
    connections: () => server.connections.size,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

function reply({ code, text }: { code: number; text: string }): Error {
  return Object.assign(new Error(text), { responseCode: code });
}

/** Time-outs that a busy machine does not reach. */
export const unhurried = { connectionMs: 20_000, socketMs: 20_000, sendMs: 20_000 };

/** Time-outs that a test can wait for. */
export const quick = { connectionMs: 400, socketMs: 400, sendMs: 1_200 };

export const from: Sender = parseSender('Paint, Match <hello@paint.example>');

export const baseUrl = 'https://paint.example';

/** A confirmation message with the default texts. */
export const confirmation: MailContent = confirmationMail(
  {
    words: () => defaultWords().newsletter,
    operator: { name: 'Paint Match' },
    baseUrl,
  },
  { confirm_token: 'CCCCCCCCCCCCCCCCCCCCCC', leave_token: 'LLLLLLLLLLLLLLLLLLLLLL' },
);
