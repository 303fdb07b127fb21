/** The operations of an agent (spec §4.3, §4.4; beyond §5). */
import {
  exampleExecution,
  examplePreview,
  exampleReceipt,
  exampleSignedReceipt,
} from '../../actions/examples.ts';
import { type Scope, scopeOf } from '../../credentials/scopes.ts';
import { bounds } from '../../forms/bounds.ts';
import { type Form, forms } from '../../forms/catalog.ts';
import { exampleFields } from '../../forms/examples.ts';
import { destinationName, type Facts } from '../facts.ts';
import { titleOf } from '../form-schemas.ts';
import { reference } from './components.ts';
import { type Described, json, RATE_HEADERS, response } from './responses.ts';

const everyForm = Object.values(forms);

const action = {
  name: 'action',
  in: 'path',
  required: true,
  description: 'The action; getManifest lists them.',
  schema: { type: 'string', enum: Object.keys(forms) },
  // Of the first example body: whoever imports the document gets a request that works.
  example: Object.keys(forms)[0],
};

/** Takes the facts of the deployment; returns the operations by `operationId`. */
export function actionOperations(facts: Facts) {
  return {
    previewAction: previewOperation(facts),
    executeAction: executeOperation(),
    getReceipt: receiptOperation(),
  };
}

/** Takes a form and the facts; returns what a preview of its example answers. */
export function previewRecord(form: Form, facts: Facts) {
  return examplePreview(form, exampleFields(form), destinationName(form, facts) ?? 'A Contractor');
}

const needs = (scope: Scope) => [{ agentCredential: [scope] }];

/** Never carries `confirmation`: only the user's own yes puts it there (spec §4.5). */
const previewToExecute = {
  operationId: 'executeAction',
  description:
    'Only after the user has explicitly agreed: add `confirmation: true` and an Idempotency-Key header.',
  parameters: { action: '$request.path.action' },
  requestBody: {
    preview_id: '$response.body#/preview_id',
    confirmation_text: '$response.body#/confirmation_statement',
  },
};

/** One titled body and one example for each action. */
function previewOperation(facts: Facts): Described {
  const bodies = everyForm.map((form) => reference('schemas', `${titleOf(form.name)}Fields`));
  const requests = everyForm.map((form) => [form.name, exampleFields(form)]);
  const records = everyForm.map((form) => [form.name, previewRecord(form, facts)]);
  const previewed = response(
    'actions',
    'Show the user the fields, the destination and the statement; call executeAction only after an explicit yes.',
    json(reference('schemas', 'Preview'), Object.fromEntries(records)),
    RATE_HEADERS,
  );
  return {
    description: `Step one: validates the fields and returns what to show the user, with a token for ${bounds.previewLifetimeMinutes} minutes. Sends nothing to anybody. Unknown fields are ignored. After the user’s explicit yes, call executeAction.`,
    'x-openai-isConsequential': false,
    security: needs(scopeOf.preview),
    parameters: [action],
    requestBody: {
      required: true,
      description: 'The fields of the action in the path.',
      content: json({ anyOf: bodies }, Object.fromEntries(requests)),
    },
    responses: { 200: { ...previewed, links: { execute: previewToExecute } } },
  };
}

/** Of whatever may be repeated. */
export const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: true,
  description: 'Made once for each user request and reused on a retry. Printable ASCII characters.',
  schema: {
    type: 'string',
    minLength: 1,
    maxLength: bounds.idempotencyKeyLength,
    pattern: '^[ -~]+$',
  },
  example: '2f1c6c1e-9f0a-4b52-8e0e-6d1f5a3b7c20',
};

function executeOperation(): Described {
  const receipt = exampleReceipt('submitted');
  const executed = json(reference('schemas', 'Execution'), {
    submitted: { ok: true, receipt },
    replayed: { ok: true, receipt, replay: true },
  });
  const answered = [...RATE_HEADERS, 'Idempotent-Replayed', 'Link'];
  return {
    description:
      'Step two: submits what was previewed, once, after the user has explicitly agreed to the fields, the destination and the statement. A retry repeats the same key. After a failure call previewAction again and ask the user again.',
    'x-openai-isConsequential': true,
    security: needs(scopeOf.execute),
    parameters: [action, idempotencyKey],
    requestBody: {
      required: true,
      content: json(reference('schemas', 'ExecuteRequest'), { confirmed: exampleExecution }),
    },
    responses: {
      200: response('actions', 'Submitted, or replayed. Keep the receipt.', executed, answered),
    },
  };
}

const actionId = {
  name: 'action_id',
  in: 'path',
  required: true,
  description: 'From the receipt that executeAction returned.',
  schema: { type: 'string', format: 'uuid' },
  example: exampleReceipt('submitted').action_id,
};

/** Either scope will do. */
function receiptOperation(): Described {
  const found = json(reference('schemas', 'SignedReceipt'), { signed: exampleSignedReceipt });
  return {
    description:
      'The receipt again, signed, so that anybody can verify it with the keys of getReceiptKeys: the same bytes each time. Only for the client that executed, and once the execution has ended.',
    'x-openai-isConsequential': false,
    security: [...needs(scopeOf.preview), ...needs(scopeOf.execute)],
    parameters: [actionId],
    responses: { 200: response('actions', 'Keep it, with its disclosures.', found, RATE_HEADERS) },
  };
}
