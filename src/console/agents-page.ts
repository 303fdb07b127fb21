/** The agents page (reference §12.17): clients, their scopes and credentials, their latest executions. */
import { SCOPES } from '../credentials/clients.ts';
import { isEditable } from '../credentials/edit.ts';
import { isExpired, type ListedClient } from '../credentials/file.ts';
import type { ReadOnly } from '../storage/database.ts';
import { many } from './lead-words.ts';
import { withQuery } from './lists.ts';
import type { Answer, ConsoleParts, PageRequest } from './page.ts';
import { freshLinkOf, isFresh } from './sessions.ts';
import { pathOfPage } from './templates.ts';
import type { Times } from './times.ts';

const DAY_MS = 86_400_000;
/** Number of the newest executions that are counted. */
const COUNTED_EXECUTIONS = 10_000;

/** Choices for the time for which old tokens work after a rotation. */
export const overlaps = {
  '1h': { label: '1 hour', ms: 3_600_000 },
  '24h': { label: '24 hours', ms: DAY_MS },
  '7d': { label: '7 days', ms: 7 * DAY_MS },
} as const;

type Parts = Pick<ConsoleParts, 'credentials' | 'settings' | 'reader'>;

/** A refused form to issue a credential: its values, the field with the fault, and a sentence about the fault. */
export type RefusedIssue = {
  given: { name: string; label: string; scopes: readonly string[]; expires: string; sandbox: boolean };
  fault: { field: 'name' | 'label' | 'scope' | 'expires'; text: string };
};

/** Shows the clients. With `?revoke`, shows the page that asks before a client or credential is removed. */
export async function agentsPage(parts: ConsoleParts, request: PageRequest): Promise<Answer> {
  const revoked = request.query.getAll('revoke').at(-1);
  if (revoked === undefined || !isChangeable(parts)) return await agentsView(parts, request);
  return revokePage(parts, request, revoked, request.query.getAll('credential').at(-1));
}

/** Returns the agents page. `refused` is a form that could not be accepted. */
export async function agentsView(
  parts: Parts,
  { session, now, times }: Pick<PageRequest, 'session' | 'now' | 'times'>,
  refused?: RefusedIssue,
): Promise<Answer> {
  const { credentials, settings } = parts;
  const usage = await usageByClient(parts.reader);
  const clients = credentials.clients().map((client) => clientRow(parts, client, usage.get(client.name), now, times));
  const data = {
    clients,
    total: many(clients.length, 'client'),
    isBroken: credentials.state().fault !== undefined,
    hasFile: settings.credentialsFile !== undefined,
    isChangeable: isChangeable(parts),
    link: isFresh(session, now) ? undefined : freshLinkOf(session, pathOfPage('operatorAgents')),
    given: refused?.given ?? { name: '', label: '', scopes: SCOPES, expires: '', sandbox: false },
    fault: refused?.fault,
    scopes: SCOPES,
    overlaps: Object.entries(overlaps).map(([value, { label }]) => ({ value, label })),
    lookedAt: COUNTED_EXECUTIONS.toLocaleString('en'),
  };
  if (refused === undefined) return { kind: 'page', title: 'Agents', template: 'agents', data };
  // Screen readers read the title first, so it begins with the error.
  return { kind: 'page', title: 'Error: Agents', template: 'agents', data, status: 400 };
}

/** Returns true if the service can change the credentials file. An operator must first correct an invalid file. */
function isChangeable({ credentials, settings }: Pick<Parts, 'credentials' | 'settings'>): boolean {
  const { credentialsFile: path } = settings;
  return path !== undefined && credentials.state().fault === undefined && isEditable(path);
}

function revokePage(
  { credentials }: ConsoleParts,
  { session, now, here }: PageRequest,
  name: string,
  credential: string | undefined,
): Answer {
  const client = credentials.clients().find((one) => one.name === name);
  const ids = client?.credentials.map(({ id }) => id) ?? [];
  if (client === undefined || (credential !== undefined && !ids.includes(credential))) return { kind: 'unknownRow' };
  const label = credentials.labelOf(name);
  const data = {
    label,
    name,
    hasLabel: label !== name,
    credential,
    ids,
    isWhole: credential === undefined || ids.length === 1,
    link: isFresh(session, now) ? undefined : freshLinkOf(session, here),
  };
  return { kind: 'page', title: 'Revoke', template: 'agents-revoke', data };
}

function clientRow(
  { credentials }: Parts,
  { name, sandbox, scopes, credentials: own }: ListedClient,
  used: Usage | undefined,
  now: Date,
  times: Times,
) {
  const lastUses = [credentials.lastUse(name)?.getTime(), used && Date.parse(used.lastAt)];
  // Time of the last use: the latest use that this process saw, or the latest execution of any process.
  const last = Math.max(...lastUses.filter((ms) => ms !== undefined));
  const label = credentials.labelOf(name);
  const path = pathOfPage('operatorAgents');
  return {
    name,
    label,
    hasLabel: label !== name,
    // If the shell would interpret the name, the command has a placeholder, and the operator types the name.
    inCommand: /^[\w.-]+$/.test(name) ? name : 'NAME',
    sandbox,
    scopes,
    credentials: own.map((one) => ({
      ...credentialRow(one, now, times),
      revokeHref: own.length > 1 ? withQuery(path, { revoke: name, credential: one.id }) : undefined,
    })),
    revokeHref: withQuery(path, { revoke: name }),
    last: Number.isFinite(last) ? times.shown(last) : undefined,
    counts: used?.counts ?? [],
  };
}

function credentialRow({ id, createdAt, expiresAt }: ListedClient['credentials'][number], now: Date, times: Times) {
  const days = Math.max(Math.floor((now.getTime() - Date.parse(createdAt)) / DAY_MS), 0);
  return {
    id,
    created: times.brief(createdAt, now),
    age: `${many(days, 'day')} old`,
    ends: expiresAt === null ? undefined : times.shown(expiresAt),
    isExpired: isExpired(expiresAt, now),
  };
}

/** Number of executions of each status in words, and the time of the newest claim or request. */
type Usage = { counts: string[]; lastAt: string };

/**
 * Returns the usage of each client in the newest executions, by the client's name. A client without such an execution
 * has no entry.
 * @throws StorageUnavailable
 */
async function usageByClient(reader: ReadOnly): Promise<Map<string, Usage>> {
  const counted = await reader.read((db) => {
    const newest = db
      .selectFrom('executions')
      .select(['client', 'status', 'created_at'])
      .where('sandbox', '=', 0)
      .orderBy('created_at', 'desc')
      .limit(reader.dialect.constant(COUNTED_EXECUTIONS));
    return db
      .selectFrom(newest.as('newest'))
      .select(({ fn }) => ['client', 'status', fn.countAll<number>().as('rows'), fn.max('created_at').as('last_at')])
      .groupBy(['client', 'status'])
      .orderBy('status');
  });
  const usage = new Map<string, Usage>();
  for (const { client, status, rows, last_at } of counted) {
    const used = usage.get(client) ?? { counts: [], lastAt: last_at };
    used.counts.push(`${Number(rows).toLocaleString('en')} ${status}`);
    if (last_at > used.lastAt) used.lastAt = last_at;
    usage.set(client, used);
  }
  return usage;
}
