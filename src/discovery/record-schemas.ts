/** The records of spec §2 as JSON Schema 2020-12: what OpenAPI and the tools say that an agent is answered. */
import { CONFIRMATION_STATEMENT } from '../actions/confirmation-statement.ts';
import { bounds } from '../forms/bounds.ts';
import { forms } from '../forms/catalog.ts';
import type { JsonSchema } from './form-schemas.ts';

/** A string that is described. */
export const text = (description: string): JsonSchema => ({ type: 'string', description });
const time = (description: string): JsonSchema => ({ ...text(description), format: 'date-time' });
const actionName: JsonSchema = { enum: Object.keys(forms), description: 'The action.' };

/** An object that is complete: every property is required but those named, and there are no others. */
export function record(
  description: string,
  properties: Record<string, JsonSchema>,
  optional: string[] = [],
): JsonSchema & { type: 'object' } {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', description, required, properties };
}

/** Spec §2.3. */
export const receiptSchema = record('The receipt of an execution. It never changes.', {
  action_id: { ...text('Identifier of the execution.'), format: 'uuid' },
  action: actionName,
  status: { enum: ['submitted', 'failed'] },
  created_at: time('When the execution was claimed.'),
  consent_recorded_at: time('When the consent was recorded.'),
  confirmation_text: text('The confirmation text that was supplied.'),
  result: record('`ok` is true where the status is `submitted`.', { ok: { type: 'boolean' } }),
});

/** Spec §2.2. */
export const previewSchema = record('What to show the user before asking for their confirmation.', {
  ok: { const: true },
  preview_id: text('Signed token, `<payload>.<signature>`. It stands for what was previewed.'),
  action: actionName,
  fields: {
    type: 'object',
    description: 'The normalized fields.',
    additionalProperties: { type: 'string' },
  },
  created_at: time('When the preview was made.'),
  expires_at: time(`${bounds.previewLifetimeMinutes} minutes later. After that, preview again.`),
  confirmation_required: { const: true },
  confirmation_statement: { const: CONFIRMATION_STATEMENT },
  destination: text('Name of the party that will receive the data.'),
});

/** Beyond §4; the address of the page is told to whoever asked alone. */
export function confirmationSchema(withUrl: boolean): JsonSchema & { type: 'object' } {
  const url = { ...text('The page for the user, and for nobody else.'), format: 'uri' };
  return record('What the user was asked on a page, and what became of it.', {
    id: { ...text('Later the action_id of the receipt.'), format: 'uuid' },
    status: { enum: ['pending', 'submitted', 'failed', 'declined', 'reported', 'expired'] },
    via: { enum: ['page', 'page_email'], description: 'How the user confirms.' },
    action: actionName,
    destination: text('Name of the party that will receive the data.'),
    ...(withUrl && { confirmation_url: url }),
    created_at: time('When it was asked.'),
    expires_at: time(`${bounds.confirmationLifetimeMinutes} minutes later.`),
  });
}

/** How the person's yes came (beyond §4). */
const confirmedVia: JsonSchema = {
  enum: ['agent', 'client_form', 'page', 'page_email'],
  description:
    'How the user’s yes came: `agent` repeated the statement, or an MCP host says that its form was accepted (`client_form`), or the person pressed on our page (`page`), after a code from the mailbox (`page_email`).',
};

/** Beyond §5; takes the schema of the receipt in it. */
export function signedReceiptSchema(receipt: JsonSchema) {
  return record('The receipt of an execution, and the same signed. It never changes.', {
    ok: { const: true },
    receipt,
    confirmed_via: confirmedVia,
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

/** RFC 7517: the keys that receipts are verified with. */
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
