/** Buttons of the agents page: issue, rotate and revoke credentials (reference §12.17). */
import { SCOPES, type Scope } from '../credentials/clients.ts';
import { EditFault, isEditable } from '../credentials/edit.ts';
import {
  type ChangedClient,
  issueCredential,
  type ManagedFile,
  type RefusedChange,
  revokeCredential,
  rotateCredential,
} from '../credentials/manage.ts';
import { agentsView, overlaps, type RefusedIssue } from './agents-page.ts';
import type { AuditAction } from './audit.ts';
import type { Answer, ChangeParts, ChangeRequest } from './page.ts';
import { ignoreUnavailable, setResult } from './sessions.ts';
import { pathOfPage } from './templates.ts';

export async function changeAgents(parts: ChangeParts, request: ChangeRequest): Promise<Answer> {
  switch (request.sent('do')) {
    case 'issue':
      return await issue(parts, request);
    case 'rotate':
      return await rotate(parts, request);
    case 'revoke':
      return await revoke(parts, request);
    default:
      return { kind: 'operatorButton' };
  }
}

const issueFaults: Partial<Record<RefusedChange['why'], RefusedIssue['fault']>> = {
  badName: {
    field: 'name',
    text: 'Use letters, digits, dots, hyphens and underscores. Begin with a letter or a digit.',
  },
  clientExists: { field: 'name', text: 'This client exists already. Rotate its credential to get a new token.' },
  badLabel: { field: 'label', text: 'Use 1 to 60 visible characters on one line, without hidden ones.' },
  endIsPast: { field: 'expires', text: 'Choose a day after today, or leave the field empty.' },
};

/** Adds a client and returns the page with its token. If the form has a fault, returns the form with its values. */
async function issue(parts: ChangeParts, request: ChangeRequest): Promise<Answer> {
  const { now, times, sent, sentAll } = request;
  const name = sent('name')?.trim();
  const label = optional(request, 'label');
  const expires = optional(request, 'expires');
  const scopes = SCOPES.filter((scope) => sentAll('scope').includes(scope));
  const isForged = sentAll('scope').some((scope) => !scopes.includes(scope as Scope));
  const kind = optional(request, 'sandbox');
  const sandbox = kind === 'true';
  if (name === undefined || label === undefined || expires === undefined || isForged) return { kind: 'operatorButton' };
  if (!sandbox && kind !== '') return { kind: 'operatorButton' };
  const showAgain = (fault: RefusedIssue['fault']) =>
    agentsView(parts, request, { given: { name, label, scopes, expires, sandbox }, fault });
  if (scopes.length === 0) return await showAgain({ field: 'scope', text: 'Choose at least one scope.' });
  const end = expires === '' ? null : (times.parse(expires) ?? now);
  const client = { name, label: label === '' ? undefined : label, sandbox, scopes, expiresAt: end };
  const result = await edit(parts, request, 'issued', (file) => issueCredential(file, client));
  if (result.kind === 'changed') return tokenPage(parts, request, { ...result, end });
  if (result.kind !== 'refused') return result;
  const fault = issueFaults[result.why];
  return fault === undefined ? { kind: 'unknownRow' } : await showAgain(fault);
}

/** Adds a credential to a client and shows its token. The other tokens end after the overlap. */
async function rotate(parts: ChangeParts, request: ChangeRequest): Promise<Answer> {
  const name = request.sent('name');
  const overlap = Object.entries(overlaps).find(([value]) => value === request.sent('overlap'))?.[1];
  if (name === null || overlap === undefined) return { kind: 'operatorButton' };
  const client = { name, overlapMs: overlap.ms, expiresAt: null };
  const result = await edit(parts, request, 'rotated', (file) => rotateCredential(file, client));
  if (result.kind === 'refused') return { kind: 'unknownRow' };
  if (result.kind !== 'changed') return result;
  return tokenPage(parts, request, { ...result, end: null, overlapEnds: request.now.getTime() + overlap.ms });
}

/** Removes a client or one of its credentials. */
async function revoke(parts: ChangeParts, request: ChangeRequest): Promise<Answer> {
  const name = request.sent('name');
  const credential = optional(request, 'credential');
  if (name === null || credential === undefined) return { kind: 'operatorButton' };
  // The label is read first, because the change may remove the client with its label.
  const label = parts.credentials.labelOf(name);
  const one = credential === '' ? undefined : credential;
  const result = await edit(parts, request, 'revoked', (file) => revokeCredential(file, { name, credential: one }));
  if (result.kind === 'refused') return { kind: 'unknownRow' };
  if (result.kind !== 'changed') return result;
  const text = `Revoked: ${one === undefined ? '' : `${one} of `}${label}.`;
  const tell = request.commit(async (tx) => {
    await setResult(tx, request.session, { text });
    return {};
  });
  await tell.catch(ignoreUnavailable);
  return { kind: 'done', to: pathOfPage('operatorAgents') };
}

/** Returns the value of an input, or an empty text if it was not sent. Returns undefined if it came more than once. */
function optional({ sentAll }: ChangeRequest, name: string): string | undefined {
  const [value = '', second] = sentAll(name);
  return second === undefined ? value.trim() : undefined;
}

/**
 * Edits the credentials file. The audit entry commits once the new file is complete, right before it replaces the old
 * one, so that no change lacks its entry.
 */
async function edit<Changed extends ChangedClient>(
  { settings, credentials, log }: ChangeParts,
  { now, session, commit }: ChangeRequest,
  what: AuditAction,
  run: (file: ManagedFile) => Promise<({ kind: 'changed' } & Changed) | RefusedChange>,
): Promise<({ kind: 'changed' } & Changed) | RefusedChange | { kind: 'clientsNotEditable' }> {
  const path = settings.credentialsFile;
  if (path === undefined || !isEditable(path)) return { kind: 'clientsNotEditable' };
  const beforeReplace = async (about: ChangedClient) => {
    await commit(async () => ({ entry: { name: session.name, what, about } }));
  };
  try {
    const result = await run({ path, now, beforeReplace });
    if (result.kind === 'refused') return result;
    await credentials.reload();
    log.info({ client: result.client, credentials: result.credentials, change: what }, 'agent credentials changed');
    return result;
  } catch (error) {
    if (!(error instanceof EditFault)) throw error;
    log.error({ reason: error.message }, 'agent credentials not changed');
    return { kind: 'clientsNotEditable' };
  }
}

/** Returns the page with a new token, which is shown this once. */
function tokenPage(
  { credentials }: ChangeParts,
  { times }: ChangeRequest,
  issued: ChangedClient & { credential: string; token: string; end: Date | null; overlapEnds?: number },
): Answer {
  const { client, credential, token, end, overlapEnds } = issued;
  const label = credentials.labelOf(client);
  const listed = credentials.clients().find(({ name }) => name === client);
  const data = {
    label,
    name: client,
    credential,
    token,
    scopes: listed?.scopes ?? [],
    sandbox: listed?.sandbox ?? false,
    ends: end === null ? undefined : times.shown(end),
    overlapEnds: overlapEnds === undefined ? undefined : times.shown(overlapEnds),
  };
  return { kind: 'page', title: 'New token', template: 'agents-token', data };
}
