/** What discovery says of a deployment, beyond the catalogue of forms. */
import { type Form, forms } from '../forms/catalog.ts';
import { receiverOf } from '../submissions/recipient.ts';

export type Facts = {
  /** Without a trailing slash. */
  baseUrl: string;
  operatorName: string;
  /** Undefined while there is no contractor on the platform. */
  contractorName?: string | undefined;
  /** As people are asked here, where the operator has words of their own (CONTENT_DIR). */
  forms?: readonly Form[];
};

/** The forms of the catalogue, in the operator's words where there are any. */
export function formsOf(facts: Pick<Facts, 'forms'>): readonly Form[] {
  return facts.forms ?? Object.values(forms);
}

/** Where the public documents stand; every link between them is made from this. */
export const paths = {
  wellKnownManifest: '/.well-known/service-agent.json',
  manifest: '/api/agent/manifest',
  content: '/api/agent/content',
  llms: '/llms.txt',
  openapi: '/openapi.json',
  /** Followed by the type of the event and `.json`. */
  eventSchemas: '/schemas/',
  /** The page made from the OpenAPI document. */
  reference: '/reference',
  /** The index of the tool definitions, and the folder of their shapes. */
  tools: '/agents/tools.json',
  toolShapes: '/agents/tools/',
  /** The page that tells people about agents, credentials included. */
  agentsPage: '/agents',
  /** The page that tells whoever receives the events. */
  receiversPage: '/receivers',
} as const;

/** The name a person is shown as recipient (contract §4, "`destination`"); undefined if unknown. */
export function destinationName(form: Form, facts: Facts): string | undefined {
  return receiverOf(form, { contractor: facts.contractorName, operator: facts.operatorName });
}
