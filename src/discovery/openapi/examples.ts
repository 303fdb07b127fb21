/** Examples of what the agent routes answer, made of the examples of the catalogue. */
import { CONFIRMATION_STATEMENT } from '../../actions/confirmation.ts';
import type { PreviewRecord } from '../../actions/preview.ts';
import { PREVIEW_LIFETIME_MS } from '../../actions/preview-token.ts';
import type { Receipt } from '../../actions/receipt.ts';
import { type Form, forms } from '../../forms/catalog.ts';
import { destinationName, type Facts } from '../facts.ts';
import { exampleFields } from '../form-schemas.ts';

const PREVIEWED_AT = Date.parse('2026-09-01T12:00:00.000Z');
const EXECUTED_AT = '2026-09-01T12:03:00.000Z';

/** Only its shape is that of a token: nothing can be executed with it. */
const PREVIEW_ID = 'eyJleGFtcGxlIjp0cnVlfQ.YW4tZXhhbXBsZS1zaWduYXR1cmUtdGhhdC1pcy1ub3QtMQ';

/** Takes a form; returns the record of its preview (spec §2.2). */
export function examplePreview(form: Form, facts: Facts): PreviewRecord {
  return {
    ok: true,
    preview_id: PREVIEW_ID,
    action: form.name,
    fields: exampleFields(form),
    created_at: new Date(PREVIEWED_AT).toISOString(),
    expires_at: new Date(PREVIEWED_AT + PREVIEW_LIFETIME_MS).toISOString(),
    confirmation_required: true,
    confirmation_statement: CONFIRMATION_STATEMENT,
    destination: destinationName(form, facts) ?? 'A Contractor',
  };
}

/** The body of an execution (spec §4.4). */
export const exampleExecution = {
  preview_id: PREVIEW_ID,
  confirmation: true,
  confirmation_text: CONFIRMATION_STATEMENT,
};

/** Takes a status; returns a receipt (spec §2.3) of the first action of the catalogue. */
export function exampleReceipt(status: Receipt['status']): Receipt {
  return {
    action_id: '0d6f2c1e-5b1a-4f37-9f0e-2a6a4f1f9c11',
    action: Object.keys(forms)[0] ?? '',
    status,
    created_at: EXECUTED_AT,
    consent_recorded_at: EXECUTED_AT,
    confirmation_text: CONFIRMATION_STATEMENT,
    result: { ok: status === 'submitted' },
  };
}
