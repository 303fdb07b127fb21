/** The messages page (reference §12.13): messages that failed permanently, each with a button to resend it. */
import { countMessages, type FailedMessage, latestFailed, resendFailed } from '../mail/failed-messages.ts';
import { ATTEMPTS } from '../mail/outbox-rows.ts';
import { routes } from '../routes.ts';
import type { MessageKind } from '../storage/operation-schema.ts';
import { many } from './lead-words.ts';
import { readPage } from './lists.ts';
import type { Answer, ChangeParts, ChangeRequest, ConsoleParts, PageRequest } from './page.ts';
import { pathOfPage } from './templates.ts';
import type { Times } from './times.ts';

// PostgreSQL has no text with the character NUL.
const isKey = (text: string) => !text.includes('\0');
/** The cursor has the `Message-ID`, because a message's key can be an address, which no URL may contain. */
const ORDER = { at: 'requested_at', key: 'message_id', isKey } as const;

export async function messagesPage({ storage }: ConsoleParts, request: PageRequest): Promise<Answer> {
  const { rows, ...links } = await readPage(request, ORDER, (limit, before) => latestFailed(storage, limit, before));
  await request.record('saw_messages', { count: rows.length });
  const data = {
    ...links,
    rows: rows.map((message) => rowOf(message, request.times)),
    dead: countWords(await countMessages(storage, 'dead')),
    pending: countWords(await countMessages(storage, 'pending')),
  };
  return { kind: 'page', title: 'Messages', template: 'messages', data };
}

const refusals = { underWay: 'rowUnderWay', unknown: 'unknownRow' } as const;

/** Resends the message with this kind and key. */
export async function changeMessage(
  _parts: ChangeParts,
  { sent, now, session, commit }: ChangeRequest,
): Promise<Answer> {
  const [kind, key] = [sent('kind'), sent('key')];
  if (sent('do') !== 'resend' || kind === null || key === null) return { kind: 'operatorButton' };
  const why = await commit(async (tx) => {
    const resent = await resendFailed(tx, { kind, key }, now);
    if (resent !== 'resent') return { refused: resent };
    // The key of a notice is the id of its lead.
    const about = isNotice(kind) ? { ids: [key] } : { count: 1 };
    return { entry: { name: session.name, what: 'resent_message', about } };
  });
  return why === undefined ? { kind: 'done', to: routes.operatorMessages.path } : { kind: refusals[why] };
}

const kindWords: Readonly<Record<MessageKind, string>> = {
  code: 'Code for a confirmation',
  sign_in: 'Sign-in link',
  confirmation: 'Confirmation of a subscription',
  notice: 'Notice of a lead',
  contractor_notice: 'Notice to the contractor',
  notice_summary: 'Summary of notices',
  alert: 'Alert',
  acknowledgement: 'Acknowledgement of a form',
};

/** Returns true if the key of a message is the id of its lead. */
const isNotice = (kind: string) => kind === 'notice' || kind === 'contractor_notice';

function rowOf(message: FailedMessage, times: Times) {
  const { kind, key, address, attempts, requested_at, last_attempt_at: lastAt, reply } = message;
  return {
    kind,
    key,
    title: Object.hasOwn(kindWords, kind) ? kindWords[kind] : kind,
    href: isNotice(kind) ? pathOfPage('operatorLead', { id: key }) : undefined,
    to: address ?? 'the address in the settings',
    cause: causeWords(attempts, reply),
    reply,
    attempts: many(attempts, 'attempt'),
    asked: times.shown(requested_at),
    last: lastAt === null ? undefined : times.shown(lastAt),
  };
}

/** Returns why a message failed, in words before the mail server's reply. */
function causeWords(attempts: number, reply: string | null): string {
  if (reply === null) return attempts < ATTEMPTS ? 'The address is not valid' : 'The mail server did not reply';
  return reply.startsWith('5')
    ? 'The mail server refused the message'
    : 'The mail server refused every attempt temporarily';
}

function countWords({ isMore, count }: { isMore: boolean; count: number }): string {
  return `${isMore ? 'more than ' : ''}${count.toLocaleString('en')}`;
}
