/** The section of the API reference about sandbox clients (reference §27). */
import { forms, leastFields } from '../../forms/catalog.ts';
import { pages, pathTo, routes } from '../../routes.ts';
import { NEW_LINE } from './commands.ts';
import { table } from './schemas.ts';

const OUTCOMES: readonly (readonly [tag: string, outcome: string])[] = [
  ['none', 'Submitted.'],
  ['`+rejected`', 'Rejected with 422.'],
  ['`+limited`', 'Too many submissions: 429 with `Retry-After: 30`.'],
  ['`+unconfirmed`', 'Not confirmed: 502.'],
  ['`+slow`', 'Submitted after 5 s.'],
  ['`+presses`, `+declines`', 'A confirmation is sent or declined by itself after 2 s. An outcome tag may follow.'],
];

/** Returns the section. */
export function sandboxClients(baseUrl: string): string[] {
  const form = forms.homeowner_quote;
  const address = baseUrl + pathTo(routes.previewAction, { action: form.name });
  const body = JSON.stringify({ ...leastFields(form), email: 'ada+rejected@example.com' });
  return [
    '## Sandbox',
    `A token of a sandbox client works on every address as a real token does, with the same answers and limits. Nothing is forwarded or mailed. Each answer has the header \`Sandbox: true\`, and the signed receipt the claim \`sandbox\`. [The operator](${pages.contact.path}) issues the token. A preview of a sandbox client is invalid for a real one. The service deletes everything after a day.`,
    'The end of the local part of the e-mail address decides the outcome, at `example.com`, `example.org` and `example.net`:',
    table(
      ['Tag', 'Outcome'],
      OUTCOMES.map(([tag, outcome]) => [tag, outcome]),
    ),
    `The code of a confirmation is always \`000000\`. A new confirmation ends an earlier one of the same address without its tags, so tests that run at the same time need different names. This preview leads to 422 when you execute it:`,
    `\`\`\`sh\ncurl -sS ${NEW_LINE} ${address} \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H 'Content-Type: application/json' \\\n  -d '${body}'\n\`\`\``,
  ];
}
