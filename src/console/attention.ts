/** Whether anything needs the operator (beyond §7): each item is one sentence, and where it leads. */
import { statfs } from 'node:fs/promises';
import { countReported } from '../confirmations/reported.ts';
import { endingClients } from '../credentials/ending.ts';
import { countDead } from '../mail/dead.ts';
import { isLow, type Room } from '../notices/watched.ts';
import type { ConsoleRoute } from '../routes.ts';
import { type NotArrived, notArrived } from '../submissions/attention.ts';
import { withQuery } from './filters.ts';
import { outcomeWords, reasonWords } from './lead-words.ts';
import { pathOfPage } from './templates.ts';
import type { Times } from './times.ts';
import type { ConsoleParts } from './visit.ts';

export type Item = {
  /** Something is lost, or about to be, unless somebody does something. */
  isBad: boolean;
  title: string;
  text: string;
  href?: string;
};

const DAY_MS = 86_400_000;
/** A report is told for so long; a credential's end so long before. */
const REPORTED_DAYS = 30;
const ENDING_DAYS = 14;

/** The weightiest first; none where nothing needs anybody. */
export async function attentionOf(
  parts: ConsoleParts,
  { now, times, room }: { now: Date; times: Times; room: Room | undefined },
): Promise<Item[]> {
  const { storage, settings, credentials } = parts;
  const shownAt = (at: string) => times.shown(at).text;
  const items: Item[] = [];
  const add = (name: ConsoleRoute | undefined, item: Omit<Item, 'href'>) =>
    items.push({ ...item, ...(name && { href: pathOfPage(name) }) });

  for (const status of ['undelivered', 'waiting'] as const) {
    const found = await notArrived(storage, status);
    if (found === undefined) continue;
    const href = withQuery(pathOfPage('operatorLeads'), { status, origin: 'browser' });
    items.push({ ...notArrivedItem(status, found, shownAt), href });
  }
  const dead = await countDead(storage);
  if (dead > 0) {
    add('operatorMessages', {
      isBad: true,
      title: `${many(dead, 'message', 'messages')} could not be sent`,
      text: 'Nothing more happens to them by itself.',
    });
  }
  const reported = await countReported(storage, new Date(now.getTime() - REPORTED_DAYS * DAY_MS));
  if (reported.count > 0 && reported.lastAt !== null) {
    add('operatorConfirmations', {
      isBad: true,
      title: `${many(reported.count, 'person', 'people')} did not ask for what an agent asked them to confirm`,
      text: `In the last ${REPORTED_DAYS} days; the last one on ${shownAt(reported.lastAt)}.`,
    });
  }
  if (room !== undefined && isLow(room)) {
    add(undefined, {
      isBad: true,
      title: 'The disk is nearly full',
      text: `${gigabytes(room.freeBytes)} of ${gigabytes(room.wholeBytes)} are free in DATA_DIR.`,
    });
  }
  if (credentials.state().fault !== undefined) {
    add('operatorAgents', {
      isBad: true,
      title: 'The file of agent credentials is broken',
      text: 'What it said before stays in force. The log says what is wrong.',
    });
  }
  const before = new Date(now.getTime() + ENDING_DAYS * DAY_MS);
  for (const { name, endsAt } of await endingClients(settings.credentialsFile, { now, before })) {
    add('operatorAgents', {
      isBad: false,
      title: `The credentials of ${name} end soon`,
      text: `On ${shownAt(endsAt)} its last one ends, and it is let in no more.`,
    });
  }
  return items;
}

function notArrivedItem(
  status: 'undelivered' | 'waiting',
  { total, oldest }: NotArrived,
  shownAt: (at: string) => string,
): Omit<Item, 'href'> {
  const leads = total.isMore
    ? `More than ${total.count.toLocaleString('en')} leads`
    : many(total.count, 'lead', 'leads');
  const wait = total.count === 1 ? 'waits' : 'wait';
  const why =
    oldest.reason !== null
      ? reasonWords[oldest.reason]
      : oldest.outcome && outcomeWords[oldest.outcome];
  const since = `The oldest came on ${shownAt(oldest.receivedAt)}${why === undefined ? '' : `: ${why}`}.`;
  return status === 'undelivered'
    ? { isBad: true, title: `${leads} did not arrive`, text: since }
    : { isBad: false, title: `${leads} ${wait} for the next attempt`, text: since };
}

/** How much room there is where everything is kept; undefined where that folder is not there. */
export async function roomOf({ dataDir }: { dataDir: string }): Promise<Room | undefined> {
  try {
    const { bavail, blocks, bsize } = await statfs(dataDir);
    return { freeBytes: bavail * bsize, wholeBytes: blocks * bsize };
  } catch {
    return undefined;
  }
}

export function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toLocaleString('en', { maximumFractionDigits: 1 })} GB`;
}

function many(count: number, one: string, more: string): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : more}`;
}
