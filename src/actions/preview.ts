/** The whole chain of a preview, top to bottom (spec §4.3), in the order of contract §4. */
import type { NewId } from '../chance.ts';
import { type Clock, isoTime } from '../clock.ts';
import { checkBearer } from '../credentials/check.ts';
import type { Credentials } from '../credentials/file.ts';
import { scopeOf } from '../credentials/scopes.ts';
import type { PreviewRefusal } from '../failures/refusals.ts';
import { type FormName, findForm } from '../forms/catalog.ts';
import { type Fields, validate } from '../forms/validate.ts';
import { parseJsonObject, type ReadBody } from '../http/read-body.ts';
import type { Rate } from '../limits/limits.ts';
import type { SigningKeys } from '../settings/signing-keys.ts';
import { destinationOf, type Parties } from '../submissions/recipient.ts';
import { CONFIRMATION_STATEMENT } from './confirmation-statement.ts';
import { PREVIEW_LIFETIME_MS, sealPreview } from './preview-token.ts';

/** Spec §2.2. */
export type PreviewRecord = {
  ok: true;
  preview_id: string;
  action: FormName;
  fields: Fields;
  created_at: string;
  expires_at: string;
  confirmation_required: true;
  confirmation_statement: string;
  destination: string;
};

/** What both calls of an agent bring; the limit and the body are taken at their turn. */
export type AgentRequest = {
  action: string;
  authorization: readonly string[];
  takeFromLimit(): Promise<Rate>;
  readBody(): Promise<ReadBody>;
};

export type PreviewParts = {
  credentials: Credentials;
  signingKeys: SigningKeys;
  /** Undefined while executions are not configured: nobody is asked to confirm what can't be sent. */
  parties: Parties | undefined;
  clock: Clock;
  newId: NewId;
};

export type PreviewResult = { kind: 'previewed'; record: PreviewRecord } | PreviewRefusal;

/** The record to show a person, or the refusal. Stores nothing. */
export async function preview(parts: PreviewParts, request: AgentRequest): Promise<PreviewResult> {
  const form = findForm(request.action);
  if (form === undefined) return { kind: 'unknownAction' };

  const rate = await request.takeFromLimit();
  if (rate.exceeded) return { kind: 'rateLimited', retryAfterSeconds: rate.resetSeconds };

  const caller = checkBearer(parts.credentials, request.authorization);
  if (caller.kind !== 'client') {
    return { kind: 'unauthenticated', credentialSent: caller.kind === 'invalid' };
  }
  if (!caller.scopes.has(scopeOf.preview)) {
    return { kind: 'insufficientScope', scope: scopeOf.preview };
  }

  const { parties, signingKeys } = parts;
  if (parties === undefined || signingKeys.length === 0) return { kind: 'actionsNotConfigured' };

  const body = await request.readBody();
  if (body.kind !== 'read') return body;
  const json = parseJsonObject(body.bytes);
  if (json.kind !== 'object') return json;

  const validation = validate(form, json.value);
  if (validation.kind === 'invalid') return { kind: 'invalidFields', faults: validation.faults };

  const { fields } = validation;
  const destination = destinationOf(form, parties);
  const createdAt = parts.clock.now().getTime();
  const record: PreviewRecord = {
    ok: true,
    preview_id: sealPreview(
      signingKeys,
      { action: form.name, fields, destination, createdAt },
      parts.newId(),
    ),
    action: form.name,
    fields,
    created_at: isoTime(createdAt),
    expires_at: new Date(createdAt + PREVIEW_LIFETIME_MS).toISOString(),
    confirmation_required: true,
    confirmation_statement: CONFIRMATION_STATEMENT,
    destination,
  };
  return { kind: 'previewed', record };
}
