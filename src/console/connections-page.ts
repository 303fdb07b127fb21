/** The page of the hosts that are connected with OAuth (reference §12.19), each with a button to disconnect it. */
import { endIn, type ListedConnection, listConnections } from '../oauth/connections.ts';
import { isId } from '../platform/random.ts';
import { readPage } from './lists.ts';
import type { Answer, ChangeParts, ChangeRequest, ConsoleParts, PageRequest } from './page.ts';
import { setResult } from './sessions.ts';
import { pathOfPage } from './templates.ts';
import type { Times } from './times.ts';

const ORDER = { at: 'connected_at', key: 'id', isKey: isId } as const;

export async function connectionsPage(parts: ConsoleParts, request: PageRequest): Promise<Answer> {
  const { reader, settings } = parts;
  const { rows, ...links } = await readPage(request, ORDER, (limit, before) => listConnections(reader, limit, before));
  const data = {
    ...links,
    rows: rows.map((connection) => rowOf(parts, connection, request.times)),
    isOff: settings.oauth !== 'on',
  };
  return { kind: 'page', title: 'Connections', template: 'connections', data };
}

/** Ends the connection with this id, with all its tokens. */
export async function disconnect(
  { credentials }: ChangeParts,
  { sent, session, commit }: ChangeRequest,
): Promise<Answer> {
  const id = sent('id');
  if (sent('do') !== 'disconnect' || id === null) return { kind: 'operatorButton' };
  const why = await commit(async (tx) => {
    const ended = await endIn(tx, id);
    if (ended === undefined) return { refused: 'unknown' };
    const { client, host } = ended;
    await setResult(tx, session, { text: `Disconnected: ${host} of ${credentials.labelOf(client)}.` });
    return { entry: { name: session.name, what: 'disconnected', about: { client, host } } };
  });
  return why === undefined ? { kind: 'done', to: pathOfPage('operatorConnections') } : { kind: 'unknownRow' };
}

function rowOf(
  { credentials }: ConsoleParts,
  { id, client, host, scope, connected_at, last_used_at }: ListedConnection,
  times: Times,
) {
  const label = credentials.labelOf(client);
  return {
    id,
    host,
    label,
    name: label === client ? undefined : client,
    scopes: scope.replaceAll(' ', ', '),
    connected: times.shown(connected_at),
    used: last_used_at === null ? undefined : times.shown(last_used_at),
  };
}
