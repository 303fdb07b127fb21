/**
 * OpenAPI 3.1.1 of the agent actions alone (reference §14.6), for programs that make a tool of each operation. Each
 * action and step has its own path without parameters. The operations derive from the operations of the whole document.
 */
import { exampleFields, type Form } from '../../forms/catalog.ts';
import { pages, pathTo, routes } from '../../routes.ts';
import { API_VERSION, type Facts, formsOf } from '../deployment.ts';
import { titleOf } from '../form-schemas.ts';
import { agentOperations, previewRecord } from './agent-operations.ts';
import { componentSchemas, schema, securitySchemes } from './components.ts';
import { failureResponses } from './failures.ts';
import { type Described, headers, json } from './responses.ts';

type Step = 'previewAction' | 'executeAction';

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
    components: { ...used(paths, { schemas: componentSchemas(formsOf(facts)), headers }), securitySchemes },
    paths,
  };
}

function pathsOf(form: Form, facts: Facts): [string, object][] {
  const { previewAction, executeAction } = agentOperations(facts);
  const fields = schema(`${titleOf(form.name)}Fields`);
  const content = json(fields, { [form.name]: exampleFields(form) });
  const record = json(schema('Preview'), { [form.name]: previewRecord(form, facts) });
  return [
    operationOf(form, 'previewAction', {
      ...previewAction,
      requestBody: { required: true, content },
      responses: { 200: { ...previewAction.responses['200'], content: record } },
    }),
    operationOf(form, 'executeAction', executeAction),
  ];
}

/**
 * Returns one step of one action. The texts of the operation name the steps of this action, and the path has no
 * parameter.
 */
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
  // Only the link to the second step has `parameters` as an object. They are those of the path, which has none here.
  const withoutPathParameters = (key: string, value: unknown) =>
    key === 'parameters' && !Array.isArray(value) ? undefined : value;
  const named = JSON.stringify(operation, withoutPathParameters)
    .replaceAll('previewAction', `preview_${form.name}`)
    .replaceAll('executeAction', `execute_${form.name}`);
  const { method } = routes[step];
  return [pathTo(routes[step], { action: form.name }), { [method.toLowerCase()]: JSON.parse(named) }];
}

type Components = Record<'schemas' | 'headers', Record<string, object>>;

/** Returns the components that the paths refer to, directly or through other components. */
function used(paths: object, components: Components): Components {
  const found: Components = { schemas: {}, headers: {} };
  const add = (within: object) => {
    for (const [, section, name = ''] of JSON.stringify(within).matchAll(REFERENCE)) {
      const of = section as keyof Components;
      const component = components[of][name];
      if (component === undefined || Object.hasOwn(found[of], name)) continue;
      found[of][name] = component;
      add(component);
    }
  };
  add(paths);
  return found;
}

const REFERENCE = /"#\/components\/(schemas|headers)\/([^"]+)"/g;
