/** Example answers of the agent routes, made of the example fields of the forms. */
import { type Form, forms } from '../forms/catalog.ts';
import type { Fields } from '../forms/validate.ts';
import type { Receipt } from './executions.ts';
import { CONFIRMATION_STATEMENT, type PreviewRecord } from './preview.ts';
import { PREVIEW_LIFETIME_MS } from './preview-token.ts';

export const EXAMPLE_ACTION_ID = '0191ab6f-2d40-7c11-8f37-2a6a4f1f9c11';

const PREVIEWED_AT = Date.parse('2026-09-01T12:00:00.000Z');
const EXECUTED_AT = '2026-09-01T12:03:00.000Z';

/** A text with the shape of a token, which executes nothing. */
export const examplePreviewId = 'eyJleGFtcGxlIjp0cnVlfQ.YW4tZXhhbXBsZS1zaWduYXR1cmUtdGhhdC1pcy1ub3QtMQ';

/** Returns the record of a preview (reference §5.3). */
export function examplePreview(form: Form, fields: Fields, destination: string): PreviewRecord {
  return {
    ok: true,
    preview_id: examplePreviewId,
    action: form.name,
    fields,
    created_at: new Date(PREVIEWED_AT).toISOString(),
    expires_at: new Date(PREVIEWED_AT + PREVIEW_LIFETIME_MS).toISOString(),
    confirmation_required: true,
    confirmation_statement: CONFIRMATION_STATEMENT,
    destination,
  };
}

/** The body of an execution (reference §5.6). */
export const exampleExecution = {
  preview_id: examplePreviewId,
  confirmation: true,
  confirmation_text: CONFIRMATION_STATEMENT,
};

/** Returns a receipt (reference §5.9) of the first action. */
export function exampleReceipt(status: Receipt['status']): Receipt {
  return {
    action_id: EXAMPLE_ACTION_ID,
    action: Object.keys(forms)[0] ?? '',
    status,
    created_at: EXECUTED_AT,
    consent_recorded_at: EXECUTED_AT,
    confirmation_text: CONFIRMATION_STATEMENT,
    result: { ok: status === 'submitted' },
  };
}

/** Returns a confirmation (reference §6.5), with the address of its page if `withUrl` is true. */
export function exampleConfirmation(status: string, withUrl = false) {
  return {
    id: '0191ab6e-7c10-7d2a-9b1e-0c5d8e2f4a61',
    status,
    via: 'page',
    action: Object.keys(forms)[0] ?? '',
    destination: 'A Contractor',
    ...(withUrl && { confirmation_url: 'https://example.com/confirm/an-example-is-no-link' }),
    created_at: EXECUTED_AT,
    expires_at: '2026-09-01T13:03:00.000Z',
  };
}

/** A signed receipt (reference §7.1), with texts that only have the right shape. */
export const exampleSignedReceipt = {
  ok: true,
  receipt: exampleReceipt('submitted'),
  confirmed_via: 'agent',
  signed_receipt: 'eyJhbGciOiJFUzI1NiJ9.eyJleGFtcGxlIjp0cnVlfQ.YW4tZXhhbXBsZS1zaWduYXR1cmUtdGhhdC1pcy1ub3QtMQ~',
  disclosures: ['WyJzYWx0IiwibmFtZSIsIkFkYSBMb3ZlbGFjZSJd'],
};
