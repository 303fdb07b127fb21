/** Facts about a deployment, for the documents that agents read. */
import { type Form, forms, leastFields } from '../forms/catalog.ts';
import { filledPath } from '../routes.ts';
import type { MinimumByAction } from '../settings/confirmation-minimum.ts';
import type { Settings } from '../settings/settings.ts';
import { receiverOf } from '../submissions/submission.ts';

export type Facts = {
  /** Address of the service, without a trailing slash. */
  baseUrl: string;
  operatorName: string;
  /** Undefined if no contractor is configured. */
  contractorName?: string | undefined;
  mcp?: 'on' | 'off';
  oauth?: Settings['oauth'];
  /** Weakest accepted confirmation of each action (reference §6.4). */
  confirmationMinimum?: MinimumByAction;
  /** Forms with the operator's own labels (CONTENT_DIR), if there are any. */
  forms?: readonly Form[];
};

/** Returns the forms, with the operator's own labels if there are any. */
export function formsOf(facts: Pick<Facts, 'forms'>): readonly Form[] {
  return facts.forms ?? Object.values(forms);
}

/** Returns the address of a form that is filled in with example values (reference §15.9). */
export function exampleOfFilled({ baseUrl }: Pick<Facts, 'baseUrl'>): string {
  const form = forms.homeowner_quote;
  return baseUrl + filledPath(form.page, leastFields(form));
}

/** Version of the API in the manifest and OpenAPI (reference §1.5). */
export const API_VERSION = '2026-09-01';

/** Returns the recipient's name that a person sees (reference §2.9). Returns undefined if the name is unknown. */
export function destinationName(form: Form, facts: Facts): string | undefined {
  return receiverOf(form, { contractor: facts.contractorName, operator: facts.operatorName });
}

/** Supported revisions of the protocol, newest first (reference §8.1). No revision uses sessions here. */
export const MCP_REVISIONS = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

/** Returns the identity of the tools (reference §8.10, §14.8). The name is `reverse.dns/leads`. */
export function mcpServer({ baseUrl, operatorName }: Facts) {
  const { hostname } = new URL(baseUrl);
  const labels = hostname.match(/[^.:[\]]+/g) ?? [];
  return {
    name: [labels.reverse().join('.'), 'leads'].join('/'),
    version: API_VERSION,
    title: `${operatorName}: forms that people confirm`,
    description: 'Fill in a form for a user: give them a link to it, or preview it and send it once after their yes.',
  };
}
