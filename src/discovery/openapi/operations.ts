/** The operations at their paths: what the list of routes says of each, its words, and its failures. */
import type { DocumentedGroup } from '../../route-groups.ts';
import { type OperationId, type RouteName, routes, templateOf } from '../../routes.ts';
import type { Facts } from '../facts.ts';
import { actionOperations } from './actions.ts';
import { confirmationOperations } from './confirmations.ts';
import { discoveryOperations } from './discovery.ts';
import { failureResponses } from './failures.ts';
import { formOperations } from './forms.ts';
import type { Described } from './responses.ts';

const tags: Record<DocumentedGroup, string> = {
  actions: 'Actions',
  forms: 'Forms',
  discovery: 'Discovery',
};

/** Takes the facts of the deployment; returns the operations by path and method, in the order of the list. */
export function documentedPaths(facts: Facts): Record<string, Record<string, object>> {
  const operations: Record<OperationId, Described> = {
    ...discoveryOperations,
    ...actionOperations(facts),
    ...confirmationOperations,
    ...formOperations,
  };
  const inOrder = (Object.keys(routes) as RouteName[]).filter((name): name is OperationId =>
    Object.hasOwn(operations, name),
  );
  const paths: Record<string, Record<string, object>> = {};
  for (const operationId of inOrder) {
    const { method, group, summary } = routes[operationId];
    const { responses, ...described } = operations[operationId];
    const path = templateOf(routes[operationId]);
    const operation = {
      operationId,
      tags: [tags[group]],
      summary,
      ...described,
      responses: { ...responses, ...failureResponses(operationId) },
    };
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
  }
  return paths;
}
