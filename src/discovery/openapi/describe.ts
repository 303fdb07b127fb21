/** The whole of each operation: what the list of routes says of it, its words, and its failures. */
import { type DocumentedGroup, type OperationId, type RouteName, routes } from '../../routes.ts';
import type { Facts } from '../facts.ts';
import { executeOperation, previewOperation } from './actions.ts';
import {
  contentOperation,
  documentOperation,
  llmsOperation,
  manifestOperation,
} from './discovery.ts';
import { failureResponses } from './failures.ts';
import { leadOperation, subscribeOperation } from './forms.ts';
import type { Described } from './responses.ts';

const descriptions: Record<OperationId, (facts: Facts) => Described> = {
  getWellKnownManifest: manifestOperation,
  getManifest: manifestOperation,
  listContent: contentOperation,
  getLlmsText: llmsOperation,
  getOpenapiDocument: documentOperation,
  previewAction: previewOperation,
  executeAction: executeOperation,
  submitLead: leadOperation,
  subscribeNewsletter: subscribeOperation,
};

const tags: Record<DocumentedGroup, string> = {
  actions: 'Actions',
  forms: 'Forms',
  discovery: 'Discovery',
};

/** The operations, in the order of the list. */
export const operationIds = (Object.keys(routes) as RouteName[]).filter(
  (name): name is OperationId => Object.hasOwn(descriptions, name),
);

/** Takes an operation and the facts of the deployment; returns the OpenAPI operation object. */
export function describeOperation(operationId: OperationId, facts: Facts): object {
  const { group, summary } = routes[operationId];
  const { responses, ...described } = descriptions[operationId](facts);
  return {
    operationId,
    tags: [tags[group]],
    summary,
    ...described,
    responses: { ...responses, ...failureResponses(operationId) },
  };
}
