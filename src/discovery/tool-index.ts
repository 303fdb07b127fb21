/** The index of the tool definitions: where each shape is, and which request a call of a tool becomes. */
import { scopeOf } from '../credentials/scopes.ts';
import { pages, pathTo, routes, templateOf } from '../routes.ts';
import { API_VERSION, type Facts, formsOf } from './facts.ts';
import { EXECUTE_TOOL, previewToolName, toolShapes } from './tools.ts';

/** Takes the facts of the deployment; returns the index. */
export function toolIndex(facts: Facts) {
  const { baseUrl } = facts;
  const previews = formsOf(facts).map((form) => {
    const url = baseUrl + pathTo(routes.previewAction, { action: form.name });
    return [previewToolName(form), { method: 'POST', url, scope: scopeOf.preview }];
  });
  const shapes = Object.keys(toolShapes).map((shape) => {
    return [shape, baseUrl + pathTo(routes.toolShape, { shape })];
  });
  return {
    version: API_VERSION,
    description:
      'Tool definitions for language models. Take the shape of your API; when the model calls a tool, send the request that stands under its name.',
    shapes: Object.fromEntries(shapes),
    calls: {
      ...Object.fromEntries(previews),
      [EXECUTE_TOOL]: {
        method: 'POST',
        url: baseUrl + templateOf(routes.executeAction),
        scope: scopeOf.execute,
        headers: { 'Idempotency-Key': 'The SHA-256 of preview_id in hex.' },
      },
    },
    rules: [
      'The body is the tool’s input as JSON; leave out what is null. `{action}` in an address is taken out of the input.',
      'Authorization: Bearer and the credential are added by your program. The model never sees it.',
      'The Idempotency-Key is made by your program, never by the model. Made from preview_id, it is the same on every retry.',
      'Show the person the preview yourself and ask them, where you can, rather than trusting the model that it did.',
      'Give the model the JSON body of the answer, errors included: they say which call comes next, and where waiting helps, for how many seconds.',
    ],
    links: {
      guide: baseUrl + pages.agents.path,
      reference: baseUrl + pages.reference.path,
      openapi: baseUrl + routes.getOpenapiDocument.path,
    },
  };
}
