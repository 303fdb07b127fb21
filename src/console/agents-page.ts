/** The agents that may call (beyond §7): their scopes and credentials, what they did lately, how to change that. */
import { LOOKED_AT_ROWS, useOfClients } from '../actions/use.ts';
import { isExpired } from '../credentials/clients.ts';
import type { ListedClient } from '../credentials/file.ts';
import { render } from './templates.ts';
import { type Times, timesIn } from './times.ts';
import type { Answer, ConsoleParts, Visit } from './visit.ts';

const DAY_MS = 86_400_000;

export async function agentsPage(parts: ConsoleParts, { now }: Visit): Promise<Answer> {
  const { credentials, settings } = parts;
  const times = timesIn(settings.operatorTimeZone);
  const uses = await useOfClients(parts);
  const clients = credentials.clients().map((client) => {
    const use = uses.get(client.name);
    return {
      name: client.name,
      // A name that a shell would read as something else is left to whoever types it.
      inCommand: /^[\w.-]+$/.test(client.name) ? client.name : 'NAME',
      scopes: client.scopes,
      credentials: client.credentials.map((one) => credentialOf(one, now, times)),
      last: lastOf(credentials.lastUse(client.name), use?.lastAt, times),
      counts: Object.entries(use?.counts ?? {})
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([status, count]) => `${count.toLocaleString('en')} ${status}`),
    };
  });
  const main = render('agents', {
    clients,
    isBroken: credentials.state().fault !== undefined,
    hasFile: settings.credentialsFile !== undefined,
    lookedAt: LOOKED_AT_ROWS.toLocaleString('en'),
    zone: times.zone,
  });
  return { kind: 'page', title: 'Agents', main };
}

function credentialOf(
  { id, createdAt, expiresAt }: ListedClient['credentials'][number],
  now: Date,
  times: Times,
) {
  const days = Math.max(Math.floor((now.getTime() - Date.parse(createdAt)) / DAY_MS), 0);
  return {
    id,
    created: times.shown(createdAt),
    age: days === 1 ? '1 day old' : `${days.toLocaleString('en')} days old`,
    ends: expiresAt === null ? undefined : times.shown(expiresAt),
    isExpired: isExpired(expiresAt, now),
  };
}

/** The later of what this process saw and of what was executed by any. */
function lastOf(seen: Date | undefined, executedAt: string | undefined, times: Times) {
  const moments = [seen?.getTime(), executedAt === undefined ? undefined : Date.parse(executedAt)];
  const known = moments.filter((ms) => ms !== undefined);
  return known.length === 0 ? undefined : times.shown(Math.max(...known));
}
