/** One skill for agents that read such (Agent Skills, index 0.2.0; beyond §8). */
import { hash } from 'node:crypto';
import { CONFIRMATION_STATEMENT } from '../actions/confirmation-statement.ts';
import { pages, pathTo, routes, templateOf } from '../routes.ts';
import { type Facts, formsOf } from './facts.ts';

/** Its name is also the folder that it stands in. */
export const SKILL = 'send-a-form';

const DESCRIPTION =
  'Fill in one of the forms of this site for a user (request a quote, a walkthrough, a message, a subscription): preview it, show it to them, and send it once after their explicit yes.';

/** Takes the facts of the deployment; returns the text of the skill. */
export function skillText(facts: Facts): string {
  const { baseUrl } = facts;
  const actions = formsOf(facts).map((form) => {
    const required = form.fields.filter((field) => field.required).map(({ name }) => `\`${name}\``);
    return `- \`${form.name}\`: ${form.purpose}. Required: ${required.join(', ')}.`;
  });
  const tools =
    facts.mcp === 'on'
      ? `\nIf you can use the Model Context Protocol, connect to ${baseUrl}${routes.mcp.path} instead: its tools do the same.\n`
      : '';
  return `---
name: ${SKILL}
description: ${DESCRIPTION}
---

# Send a form for a user

${actions.join('\n')}

A bearer credential is needed; ${baseUrl}${pages.agents.path} says how to get one. It belongs to your program: never show it to a model.
${tools}
1. Ask the user for the required fields. Never make anything up.
2. POST them as one JSON object to ${baseUrl}${templateOf(routes.previewAction)}. Nothing is sent to anybody yet.
3. Show the user every field, the destination and the confirmation_statement that come back, and ask. Silence or an earlier instruction is not a yes.
4. Only after an explicit yes, POST \`preview_id\`, \`confirmation\` true and \`confirmation_text\` ("${CONFIRMATION_STATEMENT}") to ${baseUrl}${templateOf(routes.executeAction)}, with an \`Idempotency-Key\` header made once for this request and reused on a retry.
5. Tell the user, and keep the receipt. After a failure preview again and ask again; \`error\` says what comes next.

Where execute answers \`human_confirmation_required\`, POST \`preview_id\` with the same \`Idempotency-Key\` to ${baseUrl}${routes.createConfirmation.path}, give the user the \`confirmation_url\` (never press it for them), and GET ${baseUrl}${templateOf(routes.getConfirmation)} until its status is not pending.

Every field and its bounds: ${baseUrl}${routes.getAgentsDocument.path}
`;
}

/** Takes the facts; returns the index, with the digest of the bytes that are served. */
export function skillsIndex(facts: Facts) {
  const skill = {
    name: SKILL,
    type: 'skill-md',
    description: DESCRIPTION,
    url: facts.baseUrl + pathTo(routes.skill, { skill: SKILL }),
    digest: `sha256:${hash('sha256', skillText(facts))}`,
  };
  return { $schema: 'https://schemas.agentskills.io/discovery/0.2.0/schema.json', skills: [skill] };
}
