/** The records of reference §5 to §7 as JSON Schema 2020-12, for OpenAPI and the tools. */
import { CONFIRMATION_STATEMENT } from '../actions/preview.ts';
import { bounds } from '../forms/bounds.ts';
import { forms } from '../forms/catalog.ts';
import type { JsonSchema } from './form-schemas.ts';

export const text = (description: string): JsonSchema => ({ type: 'string', description });
export const uri = (description: string): JsonSchema => ({ ...text(description), format: 'uri' });
const uuid = (description: string): JsonSchema => ({ ...text(description), format: 'uuid' });
const time = (description: string): JsonSchema => ({ ...text(description), format: 'date-time' });
const actionName: JsonSchema = { enum: Object.keys(forms), description: 'The action.' };
const destination = text('Name of the party that will receive the data.');
export const ok: JsonSchema = { const: true };

/** Returns the schema of the ways in which a person can confirm on the page. */
export const pageVia = (description: string): JsonSchema => ({ enum: ['page', 'page_email'], description });

/** Returns the schema of an object. A property is required unless its name ends with `?`, which the schema omits. */
export function record(description: string, members: Record<string, JsonSchema>): JsonSchema & { type: 'object' } {
  const required = Object.keys(members).filter((name) => !name.endsWith('?'));
  const properties = Object.entries(members).map(([name, member]) => [name.replace('?', ''), member]);
  return { type: 'object', description, required, properties: Object.fromEntries(properties) };
}

/** Schema of a receipt (reference §5.9). */
export const receiptSchema = record('The receipt of an execution. It never changes.', {
  action_id: uuid('Identifier of the execution.'),
  action: actionName,
  status: { enum: ['submitted', 'failed'] },
  created_at: time('When the execution was claimed.'),
  consent_recorded_at: time('When the consent was recorded.'),
  confirmation_text: text('The confirmation text that was supplied.'),
  result: record('`ok` is true where the status is `submitted`.', { ok: { type: 'boolean' } }),
});

/** Schema of a preview (reference §5.3). */
export const previewSchema = record('What to show the user before asking for their confirmation.', {
  ok,
  preview_id: text('Signed token, `<payload>.<signature>`. It stands for what was previewed.'),
  action: actionName,
  fields: { type: 'object', description: 'The normalized fields.', additionalProperties: { type: 'string' } },
  created_at: time('When the preview was made.'),
  expires_at: time(`${bounds.previewLifetimeMinutes} minutes later. After that, preview again.`),
  confirmation_required: { const: true },
  confirmation_statement: { const: CONFIRMATION_STATEMENT },
  destination,
});

/**
 * Returns the schema of a confirmation (reference §6.5). Only the answer to the request for a confirmation has the
 * address of the page.
 */
export function confirmationSchema(withUrl: boolean): JsonSchema & { type: 'object' } {
  return record('What the user was asked on a page, and what became of it.', {
    id: uuid('Later the action_id of the receipt.'),
    status: { enum: ['pending', 'submitted', 'failed', 'declined', 'reported', 'expired'] },
    via: pageVia('How the user confirms.'),
    action: actionName,
    destination,
    ...(withUrl && { confirmation_url: uri('The page for the user, and for nobody else.') }),
    created_at: time('When it was asked.'),
    expires_at: time(`${bounds.confirmationLifetimeMinutes} minutes later.`),
  });
}

/** Returns the schema of a signed receipt (reference §7.1), with the given schema of the receipt. */
export function signedReceiptSchema(receipt: JsonSchema) {
  return record('The receipt of an execution, and the same signed. It never changes.', {
    ok,
    receipt,
    // Reference §6.1 lists the ways of confirming.
    confirmed_via: {
      enum: ['agent', 'client_form', 'page', 'page_email'],
      description:
        'How the user’s yes came: `agent` repeated the statement, or an MCP host says that its form or our card was accepted (`client_form`), or the person pressed on our page (`page`), after a code from the mailbox (`page_email`).',
    },
    signed_receipt: {
      type: ['string', 'null'],
      description: 'An SD-JWT without disclosures; null while no key is set to sign with.',
    },
    disclosures: {
      type: 'array',
      description: 'Of each field in its order, for as long as it is kept.',
      items: { type: 'string' },
    },
  });
}

/** Schema of the public keys as a JWK set (RFC 7517). */
export const receiptKeysSchema = record('The public keys of all receipts.', {
  keys: {
    type: 'array',
    items: record('A key of P-256.', {
      kty: { const: 'EC' },
      crv: { const: 'P-256' },
      x: text('Base64url.'),
      y: text('Base64url.'),
      kid: text('Its thumbprint (RFC 7638), which the header of a receipt names.'),
      use: { const: 'sig' },
      alg: { const: 'ES256' },
    }),
  },
});
