/**
 * The example answers on pages for developers. The examples come from OpenAPI. `test/site/agents-page.test.ts` compares
 * each example with a real answer.
 */
import { exampleConfirmation, examplePreview, exampleReceipt } from '../actions/examples.ts';
import { forms, leastFields } from '../forms/catalog.ts';
import { pathTo, routes } from '../routes.ts';
import { eventExamples } from '../submissions/events.ts';
import { receiverOf } from '../submissions/submission.ts';
import { contractorName, type SiteSettings } from './placeholders.ts';
import { defaultWords } from './words.ts';

/** Matches a placeholder, which has its own line inside a code block. */
const ANSWER = /^\{\{answer_(\w+)\}\}$/gm;

const form = forms.homeowner_quote;

const answers: Readonly<Record<string, (settings: SiteSettings) => unknown>> = {
  preview: (settings) => examplePreview(form, leastFields(form), destinationIn(settings)),
  execution: () => ({ ok: true, receipt: exampleReceipt('submitted') }),
  confirmation: (settings) => ({
    ok: true,
    confirmation: {
      ...exampleConfirmation('pending', true),
      destination: destinationIn(settings),
      confirmation_url: settings.baseUrl + pathTo(routes.confirmationPage, { secret: 'an-example-is-no-link' }),
    },
  }),
  event: ({ contractor }) => {
    const { [form.name]: event } = eventExamples('lead.created');
    return contractor === undefined ? event : { ...event, data: { ...event?.data, recipient: contractor } };
  },
};

function destinationIn(settings: SiteSettings): string {
  const contractor = contractorName(settings, defaultWords());
  return receiverOf(form, { contractor, operator: settings.operator.name });
}

/** Replaces the placeholders in Markdown with JSON. */
export function fillInAnswers(markdown: string, settings: SiteSettings): string {
  return markdown.replace(ANSWER, (whole, name: string) => {
    const make = Object.hasOwn(answers, name) ? answers[name] : undefined;
    // An unknown name stays in the text. `placeholders.ts` does not know it either, which stops the start.
    if (make === undefined) return whole;
    // Braces in a name must not become a placeholder.
    return JSON.stringify(make(settings), null, 2).replaceAll('{{', '{\\u007b');
  });
}
