import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import type { Letter } from '../../src/mail/mail.ts';
import { subscriberLetter } from '../../src/newsletter/letter.ts';
import { parseSender, type Sender } from '../../src/settings/sender.ts';
import { ourNewsletterWords } from '../../src/site/newsletter-words.ts';

type Received = {
  from: string;
  to: string[];
  raw: string;
  secure: boolean;
  /** The name that the client gave itself. */
  greeting: string;
  /** How it has signed in, where it had to. */
  signedIn: string | undefined;
};

export type MailServer = {
  url: string;
  port: number;
  /** What the server took, in order. */
  received: Received[];
  /** Every recipient that was offered, taken or not. */
  offered: string[];
  connections(): number;
  close(): Promise<void>;
};

export type MailServerOptions = {
  port?: number;
  starttls?: boolean;
  /** Users and passwords; without them nobody has to sign in. */
  users?: Record<string, string>;
  /** The reply to the sender: undefined takes it. */
  sender?: () => { code: number; text: string } | undefined;
  /** The reply to a recipient: undefined takes it, `stall` never answers. */
  recipient?: (address: string) => { code: number; text: string } | 'stall' | undefined;
  /** The reply after the message: undefined takes it, `drop` keeps it and hangs up. */
  data?: () => { code: number; text: string } | 'drop' | undefined;
  /** Each message has come whole: its reply waits for this. */
  thinks?: () => Promise<void>;
};

/** A real SMTP server in this process. */
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
        const answer = options.data?.();
        if (answer === undefined || answer === 'drop') {
          const { mailFrom, rcptTo } = session.envelope;
          received.push({
            from: mailFrom === false ? '' : mailFrom.address,
            to: rcptTo.map((recipient) => recipient.address),
            raw: Buffer.concat(chunks).toString('utf8'),
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

/** Time-outs so long that a busy machine does not run into them. */
export const unhurried = { connectionMs: 20_000, socketMs: 20_000, sendMs: 20_000 };

/** Time-outs that a test can wait for. */
export const quick = { connectionMs: 400, socketMs: 400, sendMs: 1_200 };

export const from: Sender = parseSender('Paint, Match <hello@paint.example>');

/** As long as links and words make it. */
export const confirmation: Letter = subscriberLetter(
  {
    words: () => ourNewsletterWords,
    operator: { name: 'Paint Match' },
    baseUrl: 'https://paint.example',
  },
  { confirm_token: 'CCCCCCCCCCCCCCCCCCCCCC', leave_token: 'LLLLLLLLLLLLLLLLLLLLLL' },
);
