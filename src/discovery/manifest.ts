/** The agent manifest (reference §14.2): actions, steps and limits for automated clients. */
import { CONFIRMATION_STATEMENT } from '../actions/preview.ts';
import { type Scope, scopeOf } from '../credentials/clients.ts';
import { bounds } from '../forms/bounds.ts';
import type { Form } from '../forms/catalog.ts';
import type { Route } from '../route-groups.ts';
import { pages, pathsOfPage, pathTo, routes, templateOf } from '../routes.ts';
import { API_VERSION, destinationName, type Facts, formsOf } from './deployment.ts';

/** Facts of the deployment, with the days for which a receipt and its idempotency key are stored. */
export type ManifestFacts = Facts & { receiptRetentionDays: number };

const scopes: Readonly<Record<Scope, string>> = {
  [scopeOf.preview]: 'Preview an action: validate its fields and get a token. Sends nothing.',
  [scopeOf.execute]: 'Execute a previewed action once the user has confirmed it.',
};

export function manifest(facts: ManifestFacts) {
  const { baseUrl, operatorName } = facts;
  const rates = Object.entries(bounds.rates).map(([name, { limit, windowSeconds: window_seconds }]) => {
    return [name, { limit, window_seconds }];
  });
  return {
    version: API_VERSION,
    name: operatorName,
    description:
      'Send one of these forms for a user in two steps: preview, then execute with their explicit confirmation.',
    base_url: baseUrl,
    steps: [
      'Ask the user for the required fields of one action, and for optional ones they want to give.',
      'POST the fields as one JSON object to preview. Nothing is sent to anybody yet.',
      'Show the user the returned fields, the destination and the confirmation_statement.',
      'Only if they explicitly agree, POST preview_id, confirmation true and confirmation_text to execute, with an Idempotency-Key header made once for this request and reused on a retry.',
      'After a failed execution start again with a new preview; never retry it under a new key.',
    ],
    actions: formsOf(facts).map((form) => describeAction(form, facts)),
    confirmation: {
      statement: CONFIRMATION_STATEMENT,
      rule: 'confirmation_text repeats the statement character for character; confirmation is true.',
      page: {
        rule: 'POST preview_id with an Idempotency-Key: the user confirms at the confirmation_url that comes back. Where an action has a confirmation_minimum of page or page_email, execute takes nothing less.',
        create: call(routes.createConfirmation),
        read: call(routes.getConfirmation),
        cancel: call(routes.cancelConfirmation),
        scope: scopeOf.execute,
      },
    },
    receipts: {
      method: 'GET',
      url_template: baseUrl + templateOf(routes.getReceipt),
      scopes: Object.values(scopeOf),
      note: 'The receipt of an execution that has ended, signed: for the client that executed, with either scope.',
    },
    authentication: { type: 'http', scheme: 'bearer', scopes, how_to_get_one: baseUrl + pages.agents.path },
    limits: {
      rates_per_client_address: Object.fromEntries(rates),
      preview_lifetime_seconds: bounds.previewLifetimeMinutes * 60,
      confirmation_lifetime_seconds: bounds.confirmationLifetimeMinutes * 60,
      value_max_length: bounds.valueLength,
      idempotency_key_max_length: bounds.idempotencyKeyLength,
      receipt_retention_days: facts.receiptRetentionDays,
    },
    links: {
      openapi: baseUrl + routes.getOpenapiDocument.path,
      agents_openapi: baseUrl + routes.getAgentsDocument.path,
      ...(facts.mcp === 'on' && { mcp: baseUrl + routes.mcp.path }),
      receipt_keys: baseUrl + routes.getReceiptKeys.path,
      api_catalog: baseUrl + routes.apiCatalog.path,
      llms_txt: baseUrl + routes.getLlmsText.path,
      content_index: baseUrl + routes.listContent.path,
      agents_page: baseUrl + pages.agents.path,
      reference: baseUrl + pages.reference.path,
    },
  };
}

/** Returns the method and the path of a route. The path is relative to `base_url`. */
function call(route: Route): string {
  return `${route.method} ${templateOf(route)}`;
}

function describeAction(form: Form, facts: Facts) {
  const url = (route: Route) => facts.baseUrl + pathTo(route, { action: form.name });
  const names = (required: boolean) =>
    form.fields.filter((field) => field.required === required).map((field) => field.name);
  return {
    action: form.name,
    audience: form.audience,
    purpose: form.purpose,
    received_by: form.receivedBy,
    destination: destinationName(form, facts),
    page: facts.baseUrl + pathsOfPage(form.page).path,
    required_fields: names(true),
    optional_fields: names(false),
    fields: Object.fromEntries(
      form.fields.map(({ name, label, kind, maximum, choices }) => {
        return [name, { label, kind, max_length: maximum, suggestions: choices }];
      }),
    ),
    confirmation_minimum: facts.confirmationMinimum?.[form.name] ?? 'agent',
    preview: { method: 'POST', url: url(routes.previewAction), scope: scopeOf.preview },
    execute: { method: 'POST', url: url(routes.executeAction), scope: scopeOf.execute },
  };
}
