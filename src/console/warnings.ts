/**
 * The warnings of the first page (reference §12.6): each says in one sentence why the operator must act, and has a
 * link.
 */
import { countReported } from '../confirmations/mailbox.ts';
import { endingClients } from '../credentials/file.ts';
import { countMessages } from '../mail/failed-messages.ts';
import { type DiskSpace, isDiskLow } from '../notices/probes.ts';
import type { ConsoleRoute } from '../routes.ts';
import { type NotArrived, notArrived } from '../submissions/read/statistics.ts';
import { many, outcomeWords, reasonWords } from './lead-words.ts';
import { withQuery } from './lists.ts';
import type { ConsoleParts } from './page.ts';
import { pathOfPage } from './templates.ts';
import type { Times } from './times.ts';

/** A warning is bad if data is lost, or will be lost unless the operator acts. */
export type Warning = { isBad: boolean; title: string; text: string; href?: string };

const DAY_MS = 86_400_000;
/** A warning shows for `REPORTED_DAYS` after a report, and for `EXPIRING_DAYS` before a credential expires. */
const REPORTED_DAYS = 30;
const EXPIRING_DAYS = 14;

/** Returns the warnings, the most important first. */
export async function warningsFor(
  { storage, reader, credentials }: ConsoleParts,
  { now, times, space }: { now: Date; times: Times; space: DiskSpace | undefined },
): Promise<Warning[]> {
  const shownAt = (at: string) => times.shown(at).text;
  const warnings: Warning[] = [];
  const add = (isBad: boolean, title: string, text: string, page: ConsoleRoute) =>
    warnings.push({ isBad, title, text, href: pathOfPage(page) });

  for (const status of ['undelivered', 'waiting'] as const) {
    const found = await notArrived(reader, status);
    if (found !== undefined) warnings.push(undeliveredWarning(status, found, shownAt));
  }
  const dead = (await countMessages(storage, 'dead')).count;
  if (dead > 0) {
    const title = `${many(dead, 'message')} could not be sent`;
    add(true, title, 'Nothing more happens to them by itself.', 'operatorMessages');
  }
  const reported = await countReported(storage, new Date(now.getTime() - REPORTED_DAYS * DAY_MS));
  if (reported.count > 0 && reported.lastAt !== null) {
    const title = `${many(reported.count, 'person', 'people')} did not ask for what an agent asked them to confirm`;
    const text = `In the last ${REPORTED_DAYS} days; the last one on ${shownAt(reported.lastAt)}.`;
    add(true, title, text, 'operatorConfirmations');
  }
  if (space !== undefined && isDiskLow(space)) {
    const text = `${freeSpace(space)} are free in DATA_DIR.`;
    warnings.push({ isBad: true, title: 'The disk is nearly full', text });
  }
  if (credentials.state().fault !== undefined) {
    const text = 'What it said before stays in force. The log says what is wrong.';
    add(true, 'The file of agent credentials is broken', text, 'operatorAgents');
  }
  const before = new Date(now.getTime() + EXPIRING_DAYS * DAY_MS);
  for (const { name, endsAt } of endingClients(credentials.clients(), { now, before })) {
    const text = `On ${shownAt(endsAt)} its last one ends, and it is let in no more.`;
    add(false, `The credentials of ${name} end soon`, text, 'operatorAgents');
  }
  return warnings;
}

function undeliveredWarning(
  status: 'undelivered' | 'waiting',
  { total, oldest }: NotArrived,
  shownAt: (at: string) => string,
): Warning {
  const leads = total.isMore ? `More than ${total.count.toLocaleString('en')} leads` : many(total.count, 'lead');
  const wait = total.count === 1 ? 'waits' : 'wait';
  const outcome = oldest.attempts.at(-1)?.outcome;
  const why = oldest.reason !== null ? reasonWords[oldest.reason] : outcome && outcomeWords[outcome];
  const isBad = status === 'undelivered';
  return {
    isBad,
    title: isBad ? `${leads} did not arrive` : `${leads} ${wait} for the next attempt`,
    text: `The oldest came on ${shownAt(oldest.receivedAt)}${why === undefined ? '' : `: ${why}`}.`,
    href: withQuery(pathOfPage('operatorLeads'), { status, origin: 'browser' }),
  };
}

/** Returns free and total space in words. */
export function freeSpace({ freeBytes, wholeBytes }: DiskSpace): string {
  const gigabytes = (bytes: number) => `${(bytes / 1e9).toLocaleString('en', { maximumFractionDigits: 1 })} GB`;
  return `${gigabytes(freeBytes)} of ${gigabytes(wholeBytes)}`;
}
