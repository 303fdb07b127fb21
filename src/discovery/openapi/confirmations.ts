/** The operations of a confirmation (beyond §4): asking for it, reading it, cancelling it. */
import { exampleConfirmation, examplePreviewId, exampleReceipt } from '../../actions/examples.ts';
import { SCOPES, type Scope, scopeOf } from '../../credentials/scopes.ts';
import { bounds } from '../../forms/bounds.ts';
import { idempotencyKey } from './actions.ts';
import { reference } from './components.ts';
import { type Described, json, RATE_HEADERS, response } from './responses.ts';

const id = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The `id` of the confirmation, as createConfirmation returned it.',
  schema: { type: 'string' },
  example: exampleConfirmation('pending').id,
};

const needs = (scopes: readonly Scope[]) => scopes.map((scope) => ({ agentCredential: [scope] }));

const created = (status: 'pending' | 'submitted') =>
  json(reference('schemas', 'NewConfirmation'), {
    [status]: { ok: true, confirmation: exampleConfirmation(status, true) },
  });

const createConfirmation: Described = {
  description: `Asks the user to confirm on a page of the service. Give them the confirmation_url and call getConfirmation until the status is not pending. It lives ${bounds.confirmationLifetimeMinutes} minutes. Sends nothing by itself.`,
  'x-openai-isConsequential': false,
  security: needs([scopeOf.execute]),
  parameters: [idempotencyKey],
  requestBody: {
    required: true,
    content: json(reference('schemas', 'ConfirmationRequest'), {
      asked: { preview_id: examplePreviewId },
      withCode: { preview_id: examplePreviewId, via: 'page_email' },
    }),
  },
  responses: {
    201: response(
      'actions',
      'Asked. Give the user the confirmation_url; nobody else.',
      created('pending'),
      RATE_HEADERS,
    ),
    200: response(
      'actions',
      'Asked before with this key and preview: its state.',
      created('submitted'),
      RATE_HEADERS,
    ),
  },
};

const seen = json(reference('schemas', 'ConfirmationState'), {
  pending: { ok: true, confirmation: exampleConfirmation('pending') },
  submitted: {
    ok: true,
    confirmation: exampleConfirmation('submitted'),
    receipt: exampleReceipt('submitted'),
  },
  declined: { ok: true, confirmation: exampleConfirmation('declined') },
});

const getConfirmation: Described = {
  description:
    'What became of it. While it is pending, wait as long as Retry-After says. With `submitted` and `failed` comes the receipt.',
  'x-openai-isConsequential': false,
  security: needs(SCOPES),
  parameters: [id],
  responses: {
    200: response('actions', 'The state of the confirmation.', seen, [
      ...RATE_HEADERS,
      'Retry-After',
    ]),
  },
};

const cancelConfirmation: Described = {
  description:
    'Ends a pending confirmation: nothing is sent, and the link says so. One that has ended stays as it is.',
  'x-openai-isConsequential': false,
  security: needs([scopeOf.execute]),
  parameters: [id],
  responses: {
    200: response('actions', 'The state of the confirmation.', seen, RATE_HEADERS),
  },
};

/** By `operationId`. */
export const confirmationOperations = { createConfirmation, getConfirmation, cancelConfirmation };
