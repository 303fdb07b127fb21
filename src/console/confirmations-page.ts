/**
 * The confirmations page (reference §12.13): each confirmation that an agent requested, with the agent and the result.
 */
import { type AskedQuestion, latestQuestions } from '../confirmations/confirmations.ts';
import { isId } from '../platform/random.ts';
import { titleCase } from './lead-words.ts';
import { readPage } from './lists.ts';
import type { Answer, ConsoleParts, PageRequest } from './page.ts';
import { pathOfPage } from './templates.ts';

const ORDER = { at: 'created_at', key: 'id', isKey: isId } as const;

export async function confirmationsPage({ storage, credentials }: ConsoleParts, request: PageRequest): Promise<Answer> {
  const { rows, ...links } = await readPage(request, ORDER, (limit, before) => latestQuestions(storage, limit, before));
  await request.record('saw_confirmations', { count: rows.length });
  const data = { ...links, rows: rows.map((question) => rowOf(question, credentials, request)) };
  return { kind: 'page', title: 'Confirmations', template: 'confirmations', data };
}

/** Text of each status, and the status of a lead that has the same style. */
const statuses = {
  pending: ['Pending', 'waiting'],
  executing: ['Being sent', 'sending'],
  submitted: ['Sent', 'delivered'],
  failed: ['Failed', 'undelivered'],
  declined: ['Declined', 'dismissed'],
  reported: ['Reported as unwanted', 'undelivered'],
  expired: ['Expired', 'dismissed'],
} as const;

function rowOf(question: AskedQuestion, credentials: ConsoleParts['credentials'], { now, times }: PageRequest) {
  const { id, client, action, via, destination, settled_at: settledAt } = question;
  const status = statusOf(question, now);
  const [statusWord, style] = statuses[status];
  const label = credentials.labelOf(client);
  const isLead = status === 'submitted' || status === 'failed';
  return {
    action: titleCase(action),
    href: isLead ? pathOfPage('operatorLead', { id }) : undefined,
    label,
    client: label === client ? undefined : client,
    destination,
    needsCode: via === 'page_email',
    asked: times.shown(question.created_at),
    ended: settledAt === null ? undefined : times.shown(settledAt),
    status: style,
    statusWord,
  };
}

function statusOf({ status, expires_at: expiresAt }: AskedQuestion, now: Date) {
  if (status === null) return 'expired';
  if (status !== 'asked') return status;
  return Date.parse(expiresAt) <= now.getTime() ? 'expired' : 'pending';
}
