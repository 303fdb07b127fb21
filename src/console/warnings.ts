/** The tasks of the first page (reference §12.6): each says in one sentence why the operator must act, and has a link. */
import { type UnseenReports, unseenReports } from '../confirmations/mailbox.ts';
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

/** A task is bad if data is lost, or will be lost unless the operator acts. `seenUntil`: the task has the button "Seen". */
export type Task = { isBad: boolean; title: string; text: string; href?: string; seenUntil?: string };

const DAY_MS = 86_400_000;
/** A task shows for `REPORTED_DAYS` after a report, and for `EXPIRING_DAYS` before a credential expires. */
const REPORTED_DAYS = 30;
const EXPIRING_DAYS = 14;

/** Returns the tasks, the most important first. */
export async function tasksFor(
  parts: Pick<ConsoleParts, 'storage' | 'reader' | 'credentials'>,
  { now, times, space }: { now: Date; times: Times; space: DiskSpace | undefined },
): Promise<Task[]> {
  const { storage, reader, credentials } = parts;
  const shownAt = (at: string) => times.shown(at).text;
  const tasks: Task[] = [];
  const add = (isBad: boolean, title: string, text: string, page: ConsoleRoute) =>
    tasks.push({ isBad, title, text, href: pathOfPage(page) });

  for (const status of ['undelivered', 'waiting'] as const) {
    const found = await notArrived(reader, status);
    if (found !== undefined) tasks.push(undeliveredTask(status, found, shownAt));
  }
  const failed = (await countMessages(storage, 'dead')).count;
  if (failed > 0) {
    const text =
      'The service makes no further attempt. The page shows the mail server’s replies, and resends messages.';
    add(true, `${many(failed, 'message')} could not be sent`, text, 'operatorMessages');
  }
  const reports = await unseenReports(storage, new Date(now.getTime() - REPORTED_DAYS * DAY_MS));
  if (reports.length > 0) tasks.push(reportedTask(parts, reports, shownAt));
  if (space !== undefined && isDiskLow(space)) {
    const text = `${freeSpace(space)} are free in DATA_DIR.`;
    tasks.push({ isBad: true, title: 'The disk is nearly full', text });
  }
  if (credentials.state().fault !== undefined) {
    const text = 'The service uses the last valid version of the file. The log has the reason.';
    add(true, 'The credentials file of the agents is invalid', text, 'operatorAgents');
  }
  const before = new Date(now.getTime() + EXPIRING_DAYS * DAY_MS);
  for (const { name, endsAt } of endingClients(credentials.clients(), { now, before })) {
    const text = `The last credential expires on ${shownAt(endsAt)}. Then the service refuses the agent.`;
    add(false, `The credentials of ${parts.credentials.labelOf(name)} expire soon`, text, 'operatorAgents');
  }
  return tasks;
}

function reportedTask(
  parts: Pick<ConsoleParts, 'credentials'>,
  reports: readonly UnseenReports[],
  shownAt: (at: string) => string,
): Task {
  const count = reports.reduce((sum, one) => sum + one.count, 0);
  const lastAt =
    reports
      .map((one) => one.lastAt)
      .sort()
      .at(-1) ?? '';
  const clients = reports.map((one) => `${parts.credentials.labelOf(one.client)} ${one.count}`).join(', ');
  return {
    isBad: true,
    title: `${many(count, 'person', 'people')} reported an unwanted request of an agent`,
    text: `Reports by agent: ${clients}. The last report came on ${shownAt(lastAt)}.`,
    href: pathOfPage('operatorConfirmations'),
    seenUntil: lastAt,
  };
}

function undeliveredTask(
  status: 'undelivered' | 'waiting',
  { total, oldest }: NotArrived,
  shownAt: (at: string) => string,
): Task {
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
