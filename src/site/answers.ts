/**
 * What the service answers, shown under the commands of a page: from the examples of OpenAPI, so that nobody
 * types an answer. `test/site/agents-page.test.ts` holds each to what is really answered.
 */
import { exampleConfirmation, examplePreview, exampleReceipt } from '../actions/examples.ts';
import { forms } from '../forms/catalog.ts';
import { leastFields } from '../forms/examples.ts';
import { pathTo, routes } from '../routes.ts';
import { eventExamples } from '../submissions/events.ts';
import { receiverOf } from '../submissions/recipient.ts';
import { contractorName, type SiteSettings } from './placeholders.ts';
import { ourWords } from './words.ts';

/** On a line of its own, inside of a fence. */
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
      confirmation_url:
        settings.baseUrl + pathTo(routes.confirmationPage, { secret: 'an-example-is-no-link' }),
    },
  }),
  event: ({ contractor }) => {
    const { [form.name]: event } = eventExamples('lead.created');
    return contractor === undefined
      ? event
      : { ...event, data: { ...event?.data, recipient: contractor } };
  },
};

function destinationIn(settings: SiteSettings): string {
  const names = {
    contractor: contractorName(settings, ourWords()),
    operator: settings.operator.name,
  };
  return receiverOf(form, names);
}

/** Takes Markdown and the settings; returns it with each answer as JSON. */
export function withAnswers(markdown: string, settings: SiteSettings): string {
  return markdown.replace(ANSWER, (whole, name: string) => {
    const make = Object.hasOwn(answers, name) ? answers[name] : undefined;
    // It stays as it is then: it is no placeholder either, and stops the start.
    if (make === undefined) return whole;
    // A name with braces must not be taken for a placeholder.
    return JSON.stringify(make(settings), null, 2).replaceAll('{{', '{\\u007b');
  });
}
