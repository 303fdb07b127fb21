/** What agents had people asked on a page of ours (beyond §7): who asked, when, and what became of it. */
import {
  type AskedQuestion,
  latestQuestions,
  type QuestionPlace,
} from '../confirmations/listing.ts';
import { routes } from '../routes.ts';
import { withQuery } from './filters.ts';
import { formTitle } from './lead-words.ts';
import { pathOfPage, render } from './templates.ts';
import { type Times, timesIn } from './times.ts';
import type { Answer, ConsoleParts, Visit } from './visit.ts';

const PAGE_ROWS = 50;
const CURSOR =
  /^(\d{4}-\d{2}-\d{2}T[\d:.]{12}Z)_([\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12})$/;

export async function confirmationsPage(
  { storage, settings }: ConsoleParts,
  { query, now, record }: Visit,
): Promise<Answer> {
  const before = placeOf(query.get('cursor') ?? '');
  const found = await latestQuestions(storage, PAGE_ROWS + 1, before);
  const questions = found.slice(0, PAGE_ROWS);
  await record('saw_confirmations', { count: questions.length });
  const last = found.length > PAGE_ROWS ? questions.at(-1) : undefined;
  const times = timesIn(settings.operatorTimeZone);
  const { path } = routes.operatorConfirmations;
  const main = render('confirmations', {
    rows: questions.map((question) => rowOf(question, now, times)),
    zone: times.zone,
    newest: before && path,
    older: last && withQuery(path, { cursor: `${last.created_at}_${last.id}` }),
  });
  return { kind: 'page', title: 'Confirmations', main };
}

const statusWords = {
  pending: 'Pending',
  executing: 'Being sent',
  submitted: 'Sent',
  failed: 'Failed',
  declined: 'Declined',
  reported: 'Reported: the person did not ask for it',
  expired: 'Expired',
} as const;

/** The look of a lead's status that says as much. */
const looks: Readonly<Record<keyof typeof statusWords, string>> = {
  pending: 'waiting',
  executing: 'sending',
  submitted: 'delivered',
  failed: 'undelivered',
  declined: 'dismissed',
  reported: 'undelivered',
  expired: 'dismissed',
};

function rowOf(question: AskedQuestion, now: Date, times: Times) {
  const { id, client, action, via, destination, settled_at: settledAt } = question;
  const status = statusOf(question, now);
  return {
    action: formTitle(action),
    // What was sent, or failed, is a lead of that reference.
    href:
      status === 'submitted' || status === 'failed'
        ? pathOfPage('operatorLead', { id })
        : undefined,
    client,
    destination,
    needsCode: via === 'page_email',
    asked: times.shown(question.created_at),
    ended: settledAt === null ? undefined : times.shown(settledAt),
    status: looks[status],
    statusWord: statusWords[status],
  };
}

function statusOf({ status, expires_at: expiresAt }: AskedQuestion, now: Date) {
  if (status === null) return 'expired';
  if (status !== 'asked') return status;
  return Date.parse(expiresAt) <= now.getTime() ? 'expired' : 'pending';
}

function placeOf(text: string): QuestionPlace | undefined {
  const [, created_at, id] = CURSOR.exec(text) ?? [];
  return created_at === undefined || id === undefined ? undefined : { created_at, id };
}
