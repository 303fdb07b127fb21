/** The Markdown mirror of a page (spec §4.2): its text, and its form as an agent needs it. */
import { CONFIRMATION_STATEMENT } from '../actions/confirmation-statement.ts';
import { scopeOf } from '../credentials/scopes.ts';
import type { Field, Form } from '../forms/catalog.ts';
import { pages, pathTo, routes } from '../routes.ts';
import { escapeMarkdown } from './placeholders.ts';

type Mirror = {
  title: string;
  description: string;
  /** Markdown, filled. */
  body: string;
  form: { form: Form; destination: string } | undefined;
  baseUrl: string;
};

/** Takes a page's texts and its form; returns the whole Markdown document. */
export function renderMirror({ title, description, body, form, baseUrl }: Mirror): string {
  const parts = [`# ${title}`, `> ${description}`];
  if (body !== '') parts.push(body);
  if (form !== undefined) parts.push(...describeForm(form.form, form.destination, baseUrl));
  return `${parts.join('\n\n')}\n`;
}

function describeForm(form: Form, destination: string, baseUrl: string): string[] {
  const values = { action: form.name };
  const example = Object.fromEntries(
    form.fields.filter((field) => field.required).map((field) => [field.name, field.example]),
  );
  return [
    '## Fields of this form',
    `${escapeMarkdown(form.purpose)}. Every value is a string.`,
    [
      '| Field | Required | At most | Meaning |',
      '|---|---|---|---|',
      ...form.fields.map(describeField),
    ].join('\n'),
    '## How an agent sends it',
    `The action is \`${form.name}\`. Both calls need a bearer credential from the operator; [For AI assistants](${baseUrl}${pages.agents.markdownPath}) has the whole flow and its errors.`,
    [
      `1. \`POST ${baseUrl}${pathTo(routes.previewAction, values)}\` (scope \`${scopeOf.preview}\`) with the fields as one JSON object. The answer holds \`preview_id\`, the normalized \`fields\`, the \`destination\` and the \`confirmation_statement\`.`,
      `2. Show the person those fields, the destination (${escapeMarkdown(destination)}) and the statement \`${CONFIRMATION_STATEMENT}\` Go on only after an explicit yes.`,
      `3. \`POST ${baseUrl}${pathTo(routes.executeAction, values)}\` (scope \`${scopeOf.execute}\`) with an \`Idempotency-Key\` header made once for this request, and \`{"preview_id": …, "confirmation": true, "confirmation_text": …}\`, where the text is that statement, character for character. Keep the receipt.`,
    ].join('\n'),
    'The least that preview takes:',
    `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``,
  ];
}

function describeField(field: Field): string {
  const choices = field.choices === undefined ? '' : ` Suggested: ${field.choices.join('; ')}.`;
  const label = /[.?!]$/.test(field.label) ? field.label : `${field.label}.`;
  const hint = field.hint === undefined ? '' : ` ${field.hint}`;
  const meaning = escapeMarkdown(`${label}${hint}${choices}`);
  return `| \`${field.name}\` | ${field.required ? 'yes' : 'no'} | ${field.maximum} characters | ${meaning} |`;
}
