/** The two operations of a browser (spec §4.6, §4.7). */
import { fallbackForm, forms } from '../../forms/catalog.ts';
import { exampleFields } from '../../forms/examples.ts';
import { titleOf } from '../form-schemas.ts';
import { reference } from './components.ts';
import { type Described, json, namedExamples, RATE_HEADERS, response } from './responses.ts';

const everyForm = Object.values(forms);
const leads = everyForm.map((form) => [form.name, { form: form.name, ...exampleFields(form) }]);

/** By `operationId`. */
export const formOperations = {
  submitLead: formOperation(
    `The route of the browser forms; \`form\` selects one, and a missing or unknown one means ${fallbackForm.name}. Automated clients call previewAction and executeAction instead.`,
    { anyOf: everyForm.map((form) => reference('schemas', `${titleOf(form.name)}Lead`)) },
    Object.fromEntries(leads),
    ['Submission-Reference'],
  ),
  subscribeNewsletter: formOperation(
    'The route of the newsletter form. Sends the address a confirmation e-mail; an address already on the list gets the same answer. Automated clients call previewAction for the newsletter instead.',
    reference('schemas', 'Subscription'),
    { subscription: { ...exampleFields(forms.newsletter), privacy: 'on' } },
    RATE_HEADERS,
  ),
};

function formOperation(
  description: string,
  schema: object,
  examples: Record<string, unknown>,
  headers: readonly string[],
): Described {
  const media = { schema, ...namedExamples(examples) };
  const accepted = json(reference('schemas', 'Accepted'), { accepted: { ok: true } });
  const passedOn = [...headers, 'Location'];
  return {
    description,
    'x-openai-isConsequential': true,
    security: [],
    requestBody: {
      required: true,
      description: 'Flat text values. The answer is JSON to JSON; otherwise a redirect or a page.',
      content: {
        'application/json': media,
        'application/x-www-form-urlencoded': media,
        'multipart/form-data': media,
      },
    },
    responses: {
      200: response('forms', 'Accepted; the answer to a JSON request.', accepted, headers),
      303: response('forms', 'Accepted; the answer to a native form.', undefined, passedOn),
    },
  };
}
