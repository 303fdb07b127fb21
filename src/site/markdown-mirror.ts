/** Renders the Markdown mirror of a page (reference §15.3): its text, and its form for an agent. */
import { CONFIRMATION_STATEMENT } from '../actions/preview.ts';

import { scopeOf } from '../credentials/clients.ts';
import { type Field, type Form, leastFields } from '../forms/catalog.ts';
import { pages, pathTo, routes } from '../routes.ts';
import { escapeMarkdown } from './interpolate.ts';

type Mirror = {
  title: string;
  description: string;
  /** Markdown with all placeholders filled in. */
  body: string;
  form: { form: Form; destination: string } | undefined;
  baseUrl: string;
};

export function renderMirror({ title, description, body, form, baseUrl }: Mirror): string {
  const described = form === undefined ? [] : describeForm(form.form, form.destination, baseUrl);
  return `${[`# ${title}`, `> ${description}`, ...(body === '' ? [] : [body]), ...described].join('\n\n')}\n`;
}

function describeForm(form: Form, destination: string, baseUrl: string): string[] {
  const values = { action: form.name };
  return [
    '## Fields of this form',
    `${escapeMarkdown(form.purpose)}. Every value is a string.`,
    ['| Field | Required | At most | Meaning |', '|---|---|---|---|', ...form.fields.map(describeField)].join('\n'),
    '## How an agent sends it',
    `The action is \`${form.name}\`. Both calls need a bearer credential from the operator; [For AI assistants](${baseUrl}${pages.agents.markdownPath}) has the whole flow and its errors.`,
    [
      `1. \`POST ${baseUrl}${pathTo(routes.previewAction, values)}\` (scope \`${scopeOf.preview}\`) with the fields as one JSON object. The answer holds \`preview_id\`, the normalized \`fields\`, the \`destination\` and the \`confirmation_statement\`.`,
      `2. Show the person those fields, the destination (${escapeMarkdown(destination)}) and the statement \`${CONFIRMATION_STATEMENT}\` Go on only after an explicit yes.`,
      `3. \`POST ${baseUrl}${pathTo(routes.executeAction, values)}\` (scope \`${scopeOf.execute}\`) with an \`Idempotency-Key\` header made once for this request, and \`{"preview_id": …, "confirmation": true, "confirmation_text": …}\`, where the text is that statement, character for character. Keep the receipt.`,
    ].join('\n'),
    'The least that preview takes:',
    `\`\`\`json\n${JSON.stringify(leastFields(form), null, 2)}\n\`\`\``,
  ];
}

function describeField(field: Field): string {
  const choices = field.choices === undefined ? '' : ` Suggested: ${field.choices.join('; ')}.`;
  const label = /[.?!]$/.test(field.label) ? field.label : `${field.label}.`;
  const hint = field.hint === undefined ? '' : ` ${field.hint}`;
  const meaning = escapeMarkdown(`${label}${hint}${choices}`);
  return `| \`${field.name}\` | ${field.required ? 'yes' : 'no'} | ${field.maximum} characters | ${meaning} |`;
}
