/** What the operator is told of a fault: counts, and the command that helps; nobody's data (beyond §2). */
import type { Letter } from '../mail/mail.ts';
import type { AlertKind } from '../storage/schema.ts';
import type { About } from './alert-hour.ts';
import type { Site } from './notice-letter.ts';

type Words = {
  subject: string;
  /** Behind the number of times. */
  one: string;
  many: string;
  means: string;
  commands: readonly string[];
  over?: string;
};

/** In a command: whoever reads it has no DATA_DIR in their shell. */
const FOLDER = '{DATA_DIR}';

const WORDS: Readonly<Record<AlertKind, Words>> = {
  upstream: {
    subject: 'leads do not reach the upstream',
    one: 'submission from a browser was not confirmed at its first attempt.',
    many: 'submissions from browsers were not confirmed at their first attempts.',
    means: 'What could be kept is kept, with its reason:',
    commands: ['npm run inbox -- list --status waiting', 'npm run doctor'],
    over: 'The upstream confirms again.',
  },
  given_up: {
    subject: 'leads were given up',
    one: 'submission was given up: nothing more happens to it by itself.',
    many: 'submissions were given up: nothing more happens to them by itself.',
    means: 'To see them, and to have them sent again:',
    commands: [
      'npm run inbox -- list --status undelivered',
      'npm run inbox -- resend --undelivered',
    ],
  },
  dead_message: {
    subject: 'messages could not be sent',
    one: 'message was refused for good, or too often, and is not sent again.',
    many: 'messages were refused for good, or too often, and are not sent again.',
    means: 'What the mail server says, and whether it takes a message to you:',
    commands: ['npm run doctor'],
  },
  store: {
    subject: 'the database was away',
    one: 'time the database could not be used; it answers again.',
    many: 'times the database could not be used; it answers again.',
    means:
      'What was submitted meanwhile was refused, or forwarded without being kept. To look at it:',
    commands: ['npm run doctor'],
    over: 'The database has answered for a minute without a fault.',
  },
  disk: {
    subject: 'the disk is nearly full',
    one: 'look a minute has found too little room on the disk of DATA_DIR.',
    many: 'looks, one a minute, have found too little room on the disk of DATA_DIR.',
    means: 'Under 16 MB nothing is taken any more. To see what takes the room:',
    commands: [`df -h ${FOLDER}`, `du -xh ${FOLDER} | sort -h | tail`],
    over: 'There is room on the disk of DATA_DIR again.',
  },
  reported: {
    subject: 'an agent asked for what nobody wanted',
    one: 'person has reported that they did not ask for what an agent wanted to send for them.',
    many: 'people have reported that they did not ask for what an agent wanted to send for them.',
    means:
      'Nothing was sent, and nothing more of that client is, for their mailbox. The log names the client; to see all of them, or to revoke a credential:',
    commands: ['npm run credentials -- list', 'npm run credentials -- revoke NAME'],
  },
  expiring: {
    subject: 'undelivered leads are deleted within a week',
    one: 'undelivered submission has entered its last week: then its content is deleted.',
    many: 'undelivered submissions have entered their last week: then their content is deleted.',
    means: 'To see them, and to have them sent again or written to a file:',
    commands: [
      'npm run inbox -- list --status undelivered',
      'npm run inbox -- resend --undelivered',
      'npm run --silent inbox -- export --status undelivered --format csv > undelivered.csv',
    ],
  },
};

/** Takes what is told, of which site, and where it keeps its data; returns it in words. */
export function alertLetter(
  { kind, times, over, since }: About,
  site: Site & { dataDir: string },
): Letter {
  const { subject, one, many, means, commands, over: allClear = '' } = WORDS[kind];
  const of = `${site.operatorName}: `;
  const signature = `${site.operatorName}\n${site.baseUrl}\n`;
  if (over) return { subject: `${of}over: ${subject}`, text: `${allClear}\n\n${signature}` };
  const more = since === undefined ? '' : ` more since ${since}`;
  return {
    subject: of + subject,
    text: `${times}${more} ${times === 1 ? one : many}

${means}
${commands.join('\n').replaceAll(FOLDER, () => quoted(site.dataDir))}

Of a fault that lasts you are told at most once an hour.

${signature}`,
  };
}

/** As one word of a shell. */
function quoted(path: string): string {
  return `'${path.replaceAll("'", "'\\''")}'`;
}
