/**
 * The kinds of alert with their texts: counts, and commands that help. The texts contain no personal data (reference
 * §11.6). To add an alert, add an entry and call `alerts.raise` where the fault is found.
 */
import type { MailContent } from '../mail/mail.ts';
import type { MailSite } from './notice-mail.ts';

type Alert = {
  subject: string;
  /** The rest of the sentence that begins with the number of faults, in the singular and the plural. */
  one: string;
  many: string;
  description: string;
  commands: readonly string[];
  /** Text of the all-clear. A kind without an all-clear is about a single event. */
  over?: string;
};

/** Placeholder in commands, because the operator's shell has no DATA_DIR. */
const FOLDER = '{DATA_DIR}';

const ALERTS = {
  upstream: {
    subject: 'leads do not reach the upstream',
    one: 'submission from a browser was not confirmed at its first attempt.',
    many: 'submissions from browsers were not confirmed at their first attempts.',
    description: 'What could be kept is kept, with its reason:',
    commands: ['npm run inbox -- list --status waiting', 'npm run doctor'],
    over: 'The upstream confirms again.',
  },
  given_up: {
    subject: 'leads were given up',
    one: 'submission was given up: nothing more happens to it by itself.',
    many: 'submissions were given up: nothing more happens to them by itself.',
    description: 'To see them, and to have them sent again:',
    commands: ['npm run inbox -- list --status undelivered', 'npm run inbox -- resend --undelivered'],
  },
  dead_message: {
    subject: 'messages could not be sent',
    one: 'message was refused for good, or too often, and is not sent again.',
    many: 'messages were refused for good, or too often, and are not sent again.',
    description: 'What the mail server says, and whether it takes a message to you:',
    commands: ['npm run doctor'],
  },
  store: {
    subject: 'the database was away',
    one: 'time the database could not be used; it answers again.',
    many: 'times the database could not be used; it answers again.',
    description: 'What was submitted meanwhile was refused, or forwarded without being kept. To look at it:',
    commands: ['npm run doctor'],
    over: 'The database has answered for a minute without a fault.',
  },
  disk: {
    subject: 'the disk is nearly full',
    one: 'look a minute has found too little room on the disk of DATA_DIR.',
    many: 'looks, one a minute, have found too little room on the disk of DATA_DIR.',
    description: 'Below 16 MB executions answer 503. To see what uses the space:',
    commands: [`df -h ${FOLDER}`, `du -xh ${FOLDER} | sort -h | tail`],
    over: 'There is room on the disk of DATA_DIR again.',
  },
  reported: {
    subject: 'an agent asked for what nobody wanted',
    one: 'person has reported that they did not ask for what an agent wanted to send for them.',
    many: 'people have reported that they did not ask for what an agent wanted to send for them.',
    description:
      'Nothing was sent, and nothing more of that client is, for their mailbox. The log names the client; to see all of them, or to revoke a credential:',
    commands: ['npm run credentials -- list', 'npm run credentials -- revoke NAME'],
  },
  expiring: {
    subject: 'undelivered leads are deleted within a week',
    one: 'undelivered submission has entered its last week: then its content is deleted.',
    many: 'undelivered submissions have entered their last week: then their content is deleted.',
    description: 'To see them, and to have them sent again or written to a file:',
    commands: [
      'npm run inbox -- list --status undelivered',
      'npm run inbox -- resend --undelivered',
      'npm run --silent inbox -- export --status undelivered --format csv > undelivered.csv',
    ],
  },
} as const satisfies Record<string, Alert>;

export type AlertKind = keyof typeof ALERTS;

export const alertKinds = Object.keys(ALERTS) as AlertKind[];

export const hasAllClear = (kind: AlertKind): boolean => 'over' in ALERTS[kind];

/**
 * Content of an alert or, with `over`, of an all-clear. With `since`, `times` counts the faults after an earlier alert.
 */
export type AlertEvent = { kind: AlertKind; times: number; over: boolean; since?: string };

export function alertMail({ kind, times, over, since }: AlertEvent, site: MailSite & { dataDir: string }): MailContent {
  const { subject, one, many, description, commands, over: allClear = '' }: Alert = ALERTS[kind];
  const signature = `${site.operatorName}\n${site.baseUrl}\n`;
  if (over) return { subject: `${site.operatorName}: over: ${subject}`, text: `${allClear}\n\n${signature}` };
  const more = since === undefined ? '' : ` more since ${since}`;
  const folder = `'${site.dataDir.replaceAll("'", "'\\''")}'`;
  return {
    subject: `${site.operatorName}: ${subject}`,
    text: `${times}${more} ${times === 1 ? one : many}

${description}
${commands.join('\n').replaceAll(FOLDER, () => folder)}

Of a fault that lasts you are told at most once an hour.

${signature}`,
  };
}
