/**
 * The kinds of alert with their texts: what happened, whether anything is lost, and what to do. The texts contain no
 * personal data (reference §11.6).
 *
 * To add an alert, add an entry here and its row in reference §11.6. An event calls `alerts.raise` once. A state that
 * lasts also needs `alerts.resolve` at its end, because each `raise` counts as a further fault and is mailed each hour.
 * If a job finds the state, remember in the row of `mail_hours` what was reported, as `checkExpiring` does. Otherwise
 * each instance reports it. Two other places can show the same state: `deploy/alerts.yaml`, from a metric of
 * `src/platform/metrics.ts`, and the console, from `src/console/warnings.ts`. `docs/operations.md` describes both.
 */
import { routes } from '../routes.ts';

export type Alert = {
  subject: string;
  /** The first sentence, for one fault and for several. `{n}` is their number. */
  one: string;
  many: string;
  /** Whether anything is lost. Undefined if it depends on the counts. */
  lost?: string;
  /** The console's page about the fault, and the commands that replace the page. */
  see: { intro: string; path: string; commands: readonly string[] };
  /** Commands for the server, for which the console has no page. */
  server?: { intro: string; commands: readonly string[] };
  /** Subject and text of the all-clear. A kind without an all-clear is about a single event. */
  over?: { subject: string; text: string };
};

/** Number of notices by form, or of faults by the detail that `alerts.raise` got. */
export type Counted = Readonly<Record<string, number>>;

export const totalOf = (counted: Counted) => Object.values(counted).reduce((sum, times) => sum + times, 0);

/** Detail of the kind `upstream`: the submission is not stored either. The detail of `reported` is the client's name. */
export const UNSTORED = 'unstored';

/** Placeholder in commands, because the operator's shell has no DATA_DIR. */
export const FOLDER = '{DATA_DIR}';

/** Path of the console's list of leads with a delivery status. */
const leadsThatAre = (status: 'waiting' | 'undelivered') => `${routes.operatorLeads.path}?status=${status}`;
const undelivered = leadsThatAre('undelivered');
/** The console's first page. */
export const OVERVIEW = { intro: 'To see the state of the service:', path: routes.operatorPage.path, commands: [] };
const doctor = { intro: 'To check the service, on its server:', commands: ['npm run doctor'] };

const alerts = {
  upstream: {
    subject: 'Leads do not reach the receiver',
    one: '{n} submission from a browser was not confirmed by the receiver at its first attempt.',
    many: '{n} submissions from browsers were not confirmed by the receiver at their first attempts.',
    see: {
      intro: 'To see the waiting submissions:',
      path: leadsThatAre('waiting'),
      commands: ['npm run inbox -- list --status waiting'],
    },
    server: doctor,
    over: { subject: 'leads reach the receiver again', text: 'Leads reach the receiver again.' },
  },
  given_up: {
    subject: 'Leads are undelivered',
    one: '{n} submission could not be delivered. The service makes no further attempt.',
    many: '{n} submissions could not be delivered. The service makes no further attempt.',
    lost: 'Nothing is lost. Undelivered submissions are stored for 90 days.',
    see: {
      intro: 'To see and resend the undelivered submissions:',
      path: undelivered,
      commands: ['npm run inbox -- list --status undelivered', 'npm run inbox -- resend --undelivered'],
    },
  },
  dead_message: {
    subject: 'Messages could not be sent',
    one: '{n} e-mail failed permanently. The service does not send it again.',
    many: '{n} e-mails failed permanently. The service does not send them again.',
    lost: 'No lead is lost, because leads are stored or delivered without e-mail.',
    see: {
      intro: 'To see the e-mails, and to resend them within 24 hours:',
      path: routes.operatorMessages.path,
      commands: [],
    },
    server: { intro: 'To check the mail server:', commands: ['npm run doctor'] },
  },
  store: {
    subject: 'The database was unavailable',
    one: '{n} outage of the database was found. The database works again.',
    many: '{n} outages of the database were found. The database works again.',
    lost: 'No stored data is lost. During the outage, new submissions were forwarded without being stored, or refused.',
    see: OVERVIEW,
    server: doctor,
    over: { subject: 'the database works again', text: 'The database has worked for a minute without a fault.' },
  },
  disk: {
    subject: 'The disk is nearly full',
    one: '{n} check found too little free space on the disk of DATA_DIR.',
    many: '{n} checks, one a minute, found too little free space on the disk of DATA_DIR.',
    lost: 'Nothing is lost yet. With SQLite, the service stores no new leads below 16 MB.',
    see: OVERVIEW,
    server: {
      intro: 'To see what uses the space, on the server:',
      commands: [`df -h ${FOLDER}`, `du -xh ${FOLDER} | sort -h | tail`],
    },
    over: { subject: 'the disk has enough space again', text: 'The disk of DATA_DIR has enough free space again.' },
  },
  reported: {
    subject: 'People reported an agent',
    one: '{n} person reported a request of an agent as unwanted.',
    many: '{n} people reported requests of agents as unwanted.',
    lost: 'Nothing was sent. The service refuses further requests of a reported agent for the person who reported it.',
    see: {
      intro: 'To see the requests:',
      path: routes.operatorConfirmations.path,
      commands: ['npm run credentials -- list'],
    },
    server: {
      intro: 'To block an agent, revoke its credential on the server:',
      commands: ['npm run credentials -- revoke NAME'],
    },
  },
  expiring: {
    subject: 'Undelivered leads will be deleted within a week',
    one: '{n} undelivered submission will lose its content within a week.',
    many: '{n} undelivered submissions will lose their content within a week.',
    lost: 'Nothing is lost yet.',
    see: {
      intro: 'To see, resend or export the submissions:',
      path: undelivered,
      commands: [
        'npm run inbox -- list --status undelivered',
        'npm run inbox -- resend --undelivered',
        'npm run --silent inbox -- export --status undelivered --format csv > undelivered.csv',
      ],
    },
  },
} as const satisfies Record<string, Alert>;

export type AlertKind = keyof typeof alerts;

export const alertKinds = Object.keys(alerts) as AlertKind[];

export const alertOf = (kind: AlertKind): Alert => alerts[kind];

export const hasAllClear = (kind: AlertKind): boolean => 'over' in alerts[kind];

/** An alert or, with `over`, an all-clear. */
export type AlertEvent = {
  kind: AlertKind;
  counted: Counted;
  over: boolean;
  /** Start of the time in which the faults were counted, if an alert came before. For an all-clear, time of its alert. */
  since?: string;
};
