/** The OpenAPI document (spec §9), made when it is first asked for: what makes it is loaded only then. */
import { once } from '../../once.ts';
import type { Facts } from '../facts.ts';
import type { OpenapiDocument } from '../reference/openapi-document.ts';

/** The same of the document of the agent actions alone (beyond §8). */
export function agentsDocument(facts: Facts): () => Promise<object> {
  return once(async () => {
    const { makeAgentsDocument } = await import('./agents.ts');
    return makeAgentsDocument(facts);
  });
}

/** Takes the facts of the deployment; returns what makes the document, once. */
export function openapiDocument(facts: Facts): () => Promise<OpenapiDocument> {
  return once(async () => {
    const { makeDocument } = await import('./document.ts');
    return makeDocument(facts);
  });
}
