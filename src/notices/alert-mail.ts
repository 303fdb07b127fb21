/** E-mails about faults and their ends, rendered when they are sent (reference §11.6). `alert-kinds.ts` has the texts. */
import type { MailContent } from '../mail/mail.ts';
import type { Attempt, AttemptOutcome } from '../submissions/attempts.ts';
import type { DeliveryState } from '../submissions/read/statistics.ts';
import {
  type AlertEvent,
  type AlertKind,
  alertOf,
  type Counted,
  FOLDER,
  OVERVIEW,
  totalOf,
  UNSTORED,
} from './alert-kinds.ts';
import { linkOrCommands, type MailSite, textOf } from './notice-mail.ts';

/** State of the delivery when an e-mail of the kind `upstream` is sent. */
export type DeliveryFacts = DeliveryState & {
  /** Number of submissions that had to wait and were delivered since the alert. */
  deliveredLater: number;
};

type AlertSite = MailSite & { dataDir: string };

/** Returns an alert or an all-clear. The kind `upstream` needs `delivery`. */
export function alertMail(event: AlertEvent, site: AlertSite, delivery?: DeliveryFacts): MailContent {
  const { kind, counted, over, since } = event;
  const { subject, one, many, lost, server, over: end } = alertOf(kind);
  const link = linkOrCommands(site, seeOf(kind, delivery));
  if (over) {
    const paragraphs = [[end?.text, delivery && endText(delivery, site)].join(' ').trim(), link];
    return { subject: `Resolved: ${end?.subject}`, text: textOf(site, paragraphs) };
  }
  const times = totalOf(counted);
  const number = since === undefined ? `${times}` : `Since ${site.timeOf(since)}: ${times} more`;
  const folder = `'${site.dataDir.replaceAll("'", "'\\''")}'`;
  const paragraphs = [
    (times === 1 ? one : many).replace('{n}', () => number),
    lost ?? lossText(counted[UNSTORED] ?? 0),
    delivery && stateText(delivery, site),
    delivery?.lastAttempt && causeText(delivery.lastAttempt, site),
    kind === 'reported' ? reportsText(counted, site) : undefined,
    link,
    server && [server.intro, ...server.commands].join('\n').replaceAll(FOLDER, () => folder),
    'You get at most one alert of this kind an hour.',
  ];
  return { subject, text: textOf(site, paragraphs) };
}

/** Returns the page or the commands that fit the state of the delivery. */
function seeOf(kind: AlertKind, delivery: DeliveryFacts | undefined) {
  if (delivery === undefined || delivery.waiting > 0) return alertOf(kind).see;
  return delivery.undelivered > 0 ? alertOf('given_up').see : OVERVIEW;
}

function lossText(unstored: number): string {
  if (unstored === 0) return 'Nothing is lost. Every submission is stored.';
  const people = unstored === 1 ? 'The person was' : 'The people were';
  return `${unstored} could not be stored. ${people} asked to try again. Every other submission is stored.`;
}

/** Returns how many submissions are not delivered, and when the service tries again. */
function stateText(delivery: DeliveryFacts, site: MailSite): string {
  const { waiting, undelivered } = delivery;
  if (waiting + undelivered === 0) return 'No submission is waiting.';
  const waits = waiting === 0 ? [] : [`${waiting} ${waitOf(waiting)} for another attempt.`];
  return [...waits, ...openText(delivery, site)].join(' ');
}

/** Returns what happened to the submissions that had to wait. */
function endText(delivery: DeliveryFacts, site: MailSite): string {
  const { deliveredLater: delivered, waiting } = delivery;
  const was = delivered === 1 ? 'was' : 'were';
  return [`${delivered} ${was} delivered, ${waiting} ${waitOf(waiting)}.`, ...openText(delivery, site)].join(' ');
}

function openText({ undelivered, nextAttemptMs }: DeliveryFacts, { timeOf }: MailSite): string[] {
  const next = nextAttemptMs === undefined ? [] : [`The next attempt is due on ${timeOf(nextAttemptMs)}.`];
  if (undelivered === 0) return next;
  const [are, them] = undelivered === 1 ? ['is', 'it'] : ['are', 'them'];
  return [...next, `${undelivered} ${are} undelivered, and not retried until you resend ${them}.`];
}

function waitOf(waiting: number): string {
  return waiting === 1 ? 'waits' : 'wait';
}

const CAUSES: Readonly<Record<AttemptOutcome, string>> = {
  confirmed: 'the receiver has confirmed meanwhile',
  rejected: 'the receiver rejected the submission',
  rateLimited: 'the receiver asked the service to wait',
  unconfirmed: 'the receiver did not confirm',
  unknown: 'the service stopped before the receiver answered',
};

/** Returns why the last attempt delivered nothing. */
function causeText({ at, outcome, http_status: status }: Attempt, { timeOf }: MailSite): string {
  const hasNoAnswer = outcome === 'unconfirmed' && status === null;
  const cause = hasNoAnswer ? 'the receiver did not answer' : CAUSES[outcome];
  const detail = status === null ? '' : ` (HTTP status ${status})`;
  return `Cause: ${cause}${detail}. Last attempt: ${timeOf(at)}.`;
}

/** Returns the number of reports of each agent, the most reported one first. */
function reportsText(counted: Counted, { labelOf }: MailSite): string {
  const lines = Object.entries(counted)
    .sort(([, one], [, other]) => other - one)
    .map(([client, times]) => `${labelOf(client) === client ? client : `${labelOf(client)} (${client})`}: ${times}`);
  return ['Reports by agent:', ...lines].join('\n');
}
