/** The agents page (reference §12.13): clients, their scopes and credentials, their latest executions. */

import type { ListedClient } from '../credentials/file.ts';
import { isExpired } from '../credentials/file.ts';
import type { ReadOnly } from '../storage/database.ts';
import type { ExecutionRow } from '../storage/schema.ts';
import { many } from './lead-words.ts';
import type { Answer, ConsoleParts, PageRequest } from './page.ts';
import type { Times } from './times.ts';

const DAY_MS = 86_400_000;
/** Number of the newest executions that are counted. */
const COUNTED_EXECUTIONS = 10_000;

export async function agentsPage(parts: ConsoleParts, { now, times }: PageRequest): Promise<Answer> {
  const { credentials, settings } = parts;
  const usage = await usageByClient(parts.reader);
  const clients = credentials.clients().map(({ name, scopes, credentials: own }) => {
    const used = usage.get(name);
    const lastUses = [credentials.lastUse(name)?.getTime(), used && Date.parse(used.lastAt)];
    // Time of the last use: the latest use that this process saw, or the latest execution of any process.
    const last = Math.max(...lastUses.filter((ms) => ms !== undefined));
    return {
      name,
      // A name that the shell would interpret is left for the operator to type.
      inCommand: /^[\w.-]+$/.test(name) ? name : 'NAME',
      scopes,
      credentials: own.map((one) => credentialRow(one, now, times)),
      last: Number.isFinite(last) ? times.shown(last) : undefined,
      counts: Object.entries(used?.counts ?? {})
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([status, count]) => `${count.toLocaleString('en')} ${status}`),
    };
  });
  const data = {
    clients,
    isBroken: credentials.state().fault !== undefined,
    hasFile: settings.credentialsFile !== undefined,
    lookedAt: COUNTED_EXECUTIONS.toLocaleString('en'),
  };
  return { kind: 'page', title: 'Agents', template: 'agents', data };
}

function credentialRow({ id, createdAt, expiresAt }: ListedClient['credentials'][number], now: Date, times: Times) {
  const days = Math.max(Math.floor((now.getTime() - Date.parse(createdAt)) / DAY_MS), 0);
  return {
    id,
    created: times.shown(createdAt),
    age: `${many(days, 'day')} old`,
    ends: expiresAt === null ? undefined : times.shown(expiresAt),
    isExpired: isExpired(expiresAt, now),
  };
}

/** Number of executions by status, and the time of the newest claim or request. */
type Usage = { counts: Partial<Record<ExecutionRow['status'], number>>; lastAt: string };

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
      .orderBy('created_at', 'desc')
      .limit(reader.dialect.constant(COUNTED_EXECUTIONS));
    return db
      .selectFrom(newest.as('newest'))
      .select(({ fn }) => ['client', 'status', fn.countAll<number>().as('rows'), fn.max('created_at').as('last_at')])
      .groupBy(['client', 'status']);
  });
  const usage = new Map<string, Usage>();
  for (const { client, status, rows, last_at } of counted) {
    const used = usage.get(client) ?? { counts: {}, lastAt: last_at };
    used.counts[status] = Number(rows);
    if (last_at > used.lastAt) used.lastAt = last_at;
    usage.set(client, used);
  }
  return usage;
}
