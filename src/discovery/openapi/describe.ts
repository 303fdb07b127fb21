/** The whole of each operation: its name from the table, its words, and its failures. */
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
import { type Described, type OperationId, operationTable } from './operations.ts';

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

/** Takes an operation and the facts of the deployment; returns the OpenAPI operation object. */
export function describeOperation(operationId: OperationId, facts: Facts): object {
  const { tag, summary } = operationTable[operationId];
  const { responses, ...described } = descriptions[operationId](facts);
  return {
    operationId,
    tags: [tag],
    summary,
    ...described,
    responses: { ...responses, ...failureResponses(operationId) },
  };
}
