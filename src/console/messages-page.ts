/** Messages that could not be sent (beyond §7), each with what sends it again. */
import {
  countMessages,
  type DeadMessage,
  latestDead,
  type MessagePlace,
  type ResentMessage,
  resendDead,
} from '../mail/dead.ts';
import { routes } from '../routes.ts';
import type { MessageKind } from '../storage/schema.ts';
import { recordIn } from './audit.ts';
import { withQuery } from './filters.ts';
import { pathOfPage, render } from './templates.ts';
import { type Times, timesIn } from './times.ts';
import type { Answer, ConsoleParts, Press, Visit } from './visit.ts';

const PAGE_ROWS = 50;
/** By its `Message-ID`: its key can be an address, which stands in no address of a page. */
const CURSOR = /^(\d{4}-\d{2}-\d{2}T[\d:.]{12}Z)_(<[!-~]{1,300}>)$/;

export async function messagesPage(
  { storage, settings }: ConsoleParts,
  { query, record }: Visit,
): Promise<Answer> {
  const before = placeOf(query.get('cursor') ?? '');
  const found = await latestDead(storage, PAGE_ROWS + 1, before);
  const messages = found.slice(0, PAGE_ROWS);
  await record('saw_messages', { count: messages.length });
  const last = found.length > PAGE_ROWS ? messages.at(-1) : undefined;
  const times = timesIn(settings.operatorTimeZone);
  const { path } = routes.operatorMessages;
  const main = render('messages', {
    path,
    rows: messages.map((message) => rowOf(message, times)),
    dead: inWords(await countMessages(storage, 'dead')),
    pending: inWords(await countMessages(storage, 'pending')),
    zone: times.zone,
    newest: before && path,
    older: last && withQuery(path, { cursor: `${last.requested_at}_${last.message_id}` }),
  });
  return { kind: 'page', title: 'Messages', main };
}

const refusals = { underWay: 'rowUnderWay', unknown: 'unknownRow' } as const;

/** Resend: by the kind and the key of a message. */
export async function changeMessage(
  { storage, newId }: ConsoleParts,
  { sent, now, session }: Press,
): Promise<Answer> {
  const [kind, key] = [sent('kind'), sent('key')];
  if (sent('do') !== 'resend' || kind === null || key === null) return { kind: 'operatorButton' };
  const entry = { id: newId(), at: now.toISOString(), name: session.name };
  const resent: ResentMessage = await storage.write(async (tx) => {
    const became = await resendDead(tx, { kind, key }, now);
    // The key of a notice is the reference of its lead.
    const about = kind === 'notice' ? { ids: [key] } : { count: 1 };
    if (became === 'resent') await recordIn(tx, { ...entry, what: 'resent_message', about });
    return became;
  });
  return resent === 'resent'
    ? { kind: 'done', to: routes.operatorMessages.path }
    : { kind: refusals[resent] };
}

const kindWords: Readonly<Record<MessageKind, string>> = {
  code: 'Code for a confirmation',
  confirmation: 'Confirmation of a subscription',
  notice: 'Notice of a lead',
  notice_summary: 'Summary of notices',
  alert: 'Alert',
};

function rowOf(message: DeadMessage, times: Times) {
  const { kind, key, address, attempts, requested_at, last_attempt_at: lastAt } = message;
  return {
    kind,
    key,
    title: Object.hasOwn(kindWords, kind) ? kindWords[kind] : kind,
    href: kind === 'notice' ? pathOfPage('operatorLead', { id: key }) : undefined,
    to: address ?? 'the address in the settings',
    attempts: attempts === 1 ? '1 attempt' : `${attempts} attempts`,
    asked: times.shown(requested_at),
    last: lastAt === null ? undefined : times.shown(lastAt),
  };
}

function inWords({ isMore, count }: { isMore: boolean; count: number }): string {
  return `${isMore ? 'more than ' : ''}${count.toLocaleString('en')}`;
}

function placeOf(text: string): MessagePlace | undefined {
  const [, requested_at, message_id] = CURSOR.exec(text) ?? [];
  return requested_at === undefined || message_id === undefined
    ? undefined
    : { requested_at, message_id };
}
