/** Makes a preview (reference §5.3). The checks run in the order of reference §5.5. */
import { scopeOf } from '../credentials/clients.ts';
import type { Credentials } from '../credentials/file.ts';
import type { BodyRefusal, PreviewRefusal } from '../failures/refusals.ts';
import { type FormName, findForm } from '../forms/catalog.ts';
import { type Fields, ignoredNames, validate } from '../forms/validate.ts';
import { type Clock, isoTime } from '../platform/clock.ts';
import type { NewId } from '../platform/random.ts';
import type { SigningKeys } from '../settings/signing-keys.ts';
import { destinationOf, type Parties } from '../submissions/submission.ts';
import { type AgentRequest, admitWith } from './authorize.ts';
import { PREVIEW_LIFETIME_MS, sealPreview } from './preview-token.ts';

/** The exact text that a person agrees to, and that an execution repeats character for character (reference §5.2). */
export const CONFIRMATION_STATEMENT = 'I confirm that Service may use these details for the selected action.';

/** The answer of a preview (reference §5.3). */
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

/** A request for a preview. `readFields` reads the JSON body of the HTTP route, or the arguments of an MCP tool. */
export type PreviewRequest = AgentRequest & {
  action: string;
  readFields(): Promise<{ kind: 'object'; value: Readonly<Record<string, unknown>> } | BodyRefusal>;
};

export type PreviewParts = {
  credentials: Credentials;
  signingKeys: SigningKeys;
  /** Undefined while executions are not configured, so that nobody confirms a preview that cannot be sent. */
  parties: Parties | undefined;
  clock: Clock;
  newId: NewId;
};

/** `ignored` has the names of fields that the form does not have (reference §5.3). */
export type PreviewResult = { kind: 'previewed'; record: PreviewRecord; ignored: string[] } | PreviewRefusal;

/** Returns the record to show to the person, or the refusal. Stores nothing. */
export async function preview(parts: PreviewParts, request: PreviewRequest): Promise<PreviewResult> {
  const form = findForm(request.action);
  if (form === undefined) return { kind: 'unknownAction' };

  const caller = await admitWith(parts, request, scopeOf.preview);
  if (caller.kind !== 'client') return caller;

  const { parties, signingKeys } = parts;
  if (parties === undefined || signingKeys.length === 0) return { kind: 'actionsNotConfigured' };

  const read = await request.readFields();
  if (read.kind !== 'object') return read;

  const validation = validate(form, read.value);
  if (validation.kind === 'invalid') return { kind: 'invalidFields', faults: validation.faults };

  const { fields } = validation;
  const destination = destinationOf(form, parties);
  const createdAt = parts.clock.now().getTime();
  const sealed = { action: form.name, fields, destination, createdAt };
  const record: PreviewRecord = {
    ok: true,
    preview_id: sealPreview(signingKeys, sealed, parts.newId(), caller.sandbox),
    action: form.name,
    fields,
    created_at: isoTime(createdAt),
    expires_at: new Date(createdAt + PREVIEW_LIFETIME_MS).toISOString(),
    confirmation_required: true,
    confirmation_statement: CONFIRMATION_STATEMENT,
    destination,
  };
  return { kind: 'previewed', record, ignored: ignoredNames(form, read.value) };
}
