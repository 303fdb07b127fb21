/** What discovery says of a deployment, beyond the catalogue of forms. */
import { type Form, forms } from '../forms/catalog.ts';
import type { MinimumByAction } from '../settings/confirmation-minimum.ts';
import { receiverOf } from '../submissions/recipient.ts';

export type Facts = {
  /** Without a trailing slash. */
  baseUrl: string;
  operatorName: string;
  /** Undefined while there is no contractor on the platform. */
  contractorName?: string | undefined;
  /** Whether the tools of the Model Context Protocol are served. */
  mcp?: 'on' | 'off';
  /** The least that each action takes (beyond §4); nothing where it is not set. */
  confirmationMinimum?: MinimumByAction;
  /** As people are asked here, where the operator has words of their own (CONTENT_DIR). */
  forms?: readonly Form[];
};

/** The forms of the catalogue, in the operator's words where there are any. */
export function formsOf(facts: Pick<Facts, 'forms'>): readonly Form[] {
  return facts.forms ?? Object.values(forms);
}

/** The version of the API, which the manifest and OpenAPI carry (spec §9). */
export const API_VERSION = '2026-09-01';

/** The name a person is shown as recipient (contract §4, "`destination`"); undefined if unknown. */
export function destinationName(form: Form, facts: Facts): string | undefined {
  return receiverOf(form, { contractor: facts.contractorName, operator: facts.operatorName });
}
