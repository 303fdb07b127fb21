/**
 * OpenAPI 3.1.1 of the agent actions alone (beyond §8), for what makes a tool of each operation: one path for each
 * action and step, no parameter in it, and the plain object of that action. Derived from the whole document.
 */
import type { Form } from '../../forms/catalog.ts';
import { exampleFields } from '../../forms/examples.ts';
import { pages, pathTo, routes } from '../../routes.ts';
import { API_VERSION, type Facts, formsOf } from '../facts.ts';
import { titleOf } from '../form-schemas.ts';
import { actionOperations, previewRecord } from './actions.ts';
import { componentSchemas, reference, securitySchemes } from './components.ts';
import { failureResponses } from './failures.ts';
import { type Described, headers, json } from './responses.ts';

type Step = 'previewAction' | 'executeAction';

/** Takes the facts of the deployment; returns the document. */
export function makeAgentsDocument(facts: Facts): object {
  const { baseUrl, operatorName } = facts;
  const paths = Object.fromEntries(formsOf(facts).flatMap((form) => pathsOf(form, facts)));
  return {
    openapi: '3.1.1',
    info: {
      title: `${operatorName}: agent actions`,
      description:
        'Two steps for each action: preview, then, only after the user has seen the fields, the destination and the statement and has explicitly agreed, execute.',
      version: API_VERSION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    externalDocs: { description: 'For AI assistants.', url: baseUrl + pages.agents.path },
    servers: [{ url: baseUrl, description: 'This deployment.' }],
    components: {
      ...used(paths, { schemas: componentSchemas(formsOf(facts)), headers }),
      securitySchemes,
    },
    paths,
  };
}

function pathsOf(form: Form, facts: Facts): [string, object][] {
  const { previewAction, executeAction } = actionOperations(facts);
  const content = json(reference('schemas', `${titleOf(form.name)}Fields`), {
    [form.name]: exampleFields(form),
  });
  const previewed = previewAction.responses['200'] as { content: object };
  const record = json(reference('schemas', 'Preview'), {
    [form.name]: previewRecord(form, facts),
  });
  return [
    operationOf(form, 'previewAction', {
      ...previewAction,
      requestBody: { required: true, content },
      responses: { 200: { ...previewed, content: record } },
    }),
    operationOf(form, 'executeAction', executeAction),
  ];
}

/** The operation of one action: the words name its own two steps, and no parameter is left in the path. */
function operationOf(form: Form, step: Step, described: Described): [string, object] {
  const { parameters = [], responses, ...rest } = described;
  const { 404: _unknownAction, ...failures } = failureResponses(step);
  const operation = {
    operationId: step,
    summary: `${routes[step].summary}: ${form.purpose}`,
    ...rest,
    parameters: parameters.filter((each) => !('in' in each && each.in === 'path')),
    responses: { ...responses, ...failures },
  };
  const named = JSON.stringify(operation, withoutPathParameters)
    .replaceAll('previewAction', `preview_${form.name}`)
    .replaceAll('executeAction', `execute_${form.name}`);
  const { method } = routes[step];
  return [
    pathTo(routes[step], { action: form.name }),
    { [method.toLowerCase()]: JSON.parse(named) },
  ];
}

/** In the link to the second step: the path has no parameter to take from the first. */
function withoutPathParameters(key: string, value: unknown): unknown {
  const isOfPath = key === 'parameters' && !Array.isArray(value);
  return isOfPath ? undefined : value;
}

type Components = Record<'schemas' | 'headers', Record<string, object>>;

/** What the paths refer to, and what that refers to. */
function used(paths: object, components: Components): Components {
  const found: Components = { schemas: {}, headers: {} };
  const look = (within: object) => {
    for (const [, section = '', name = ''] of JSON.stringify(within).matchAll(REFERENCE)) {
      const component = components[section as keyof Components][name];
      if (component === undefined || Object.hasOwn(found[section as keyof Components], name))
        continue;
      found[section as keyof Components][name] = component;
      look(component);
    }
  };
  look(paths);
  return found;
}

const REFERENCE = /"#\/components\/(schemas|headers)\/([^"]+)"/g;
