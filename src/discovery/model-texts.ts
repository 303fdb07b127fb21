/** Texts for language models: `/llms.txt` (reference §14.3) and one agent skill (reference §14.9, index version 0.2.0). */
import { hash } from 'node:crypto';
import { CONFIRMATION_STATEMENT } from '../actions/preview.ts';
import { forms } from '../forms/catalog.ts';
import { pages as linked, pathsOfPage, pathTo, routes, templateOf } from '../routes.ts';
import { escapeMarkdown } from '../site/interpolate.ts';
import { resourcePages, type SourcePage } from './content.ts';
import { exampleOfFilled, type Facts, formsOf } from './deployment.ts';

/** Returns /llms.txt in the format of llmstxt.org: a heading, a summary, notes, then sections of links. */
export function llmsText(pages: readonly SourcePage[], facts: Facts): string {
  const { baseUrl } = facts;
  const operatorName = escapeMarkdown(facts.operatorName);
  const actions = Object.values(forms).map((form) => `- \`${form.name}\`: ${form.purpose}.`);
  const links = resourcePages(pages).map((page) =>
    link(escapeMarkdown(page.title), baseUrl + page.markdownPath, escapeMarkdown(page.description)),
  );
  const connect =
    facts.oauth === 'on' ? ` Hosts that need OAuth connect to \`${baseUrl}${routes.connect.path}\` instead.` : '';
  // An address that answers POST only is no link, because a program that follows links would get an error.
  const mcp =
    facts.mcp === 'on'
      ? `\nThe same actions are tools of the Model Context Protocol: \`${baseUrl}${routes.mcp.path}\`, with the credential as a bearer token.${connect}\n`
      : '';
  return `# ${operatorName}

> ${operatorName} connects homeowners with one vetted painting contractor. People use the forms on its pages; agents that act for a user preview an action, get the user's explicit confirmation and execute it.

The actions:

${actions.join('\n')}

How an agent sends one:

1. Read the manifest for the fields, the scopes and the limits. A bearer credential is needed; ${baseUrl}${linked.agents.path} says how to get one.
2. POST the fields to \`${templateOf(routes.previewAction)}\`. Nothing is sent to anybody yet.
3. Show the user the fields, the destination and the confirmation statement that came back.
4. Only if the user explicitly agrees, POST \`preview_id\`, \`confirmation\` and \`confirmation_text\` to \`${templateOf(routes.executeAction)}\` with an \`Idempotency-Key\`.
5. Keep the receipt; GET \`${templateOf(routes.getReceipt)}\` returns it again, signed.

Where the user is to confirm for themselves, POST \`preview_id\` to \`${routes.createConfirmation.path}\` instead of step 4, give them the \`confirmation_url\`, and GET \`${templateOf(routes.getConfirmation)}\` until it is not pending. Where an action's \`confirmation_minimum\` in the manifest is not \`agent\`, this is the only way.
${mcp}
${handOff(facts)}

## For agents

${link('Agent manifest', baseUrl + routes.getManifest.path, 'each action with its fields, endpoints, scopes and limits')}
${link('OpenAPI 3.1 of the agent actions', baseUrl + routes.getAgentsDocument.path, 'a path and a plain body for each action')}
${link('OpenAPI 3.1', baseUrl + routes.getOpenapiDocument.path, 'the API: its calls, bodies, responses and events')}
${link('API reference', baseUrl + linked.reference.markdownPath, 'the same to read')}
${link('Receipt keys', baseUrl + routes.getReceiptKeys.path, 'what signed receipts are verified with, as a JSON Web Key Set')}
${link('Content index', baseUrl + routes.listContent.path, 'the pages below as JSON; `?resource=<id>` returns one')}

## Pages

${links.join('\n')}
`;
}

/** Returns how an assistant without a credential gives a filled-in form to its user (reference §14.3, §15.9). */
function handOff(facts: Facts): string {
  const { baseUrl } = facts;
  const fields = formsOf(facts).map((form) => {
    const names = form.fields.map(({ name, required }) => (required ? `${name} (required)` : name));
    return `- ${baseUrl}${pathsOfPage(form.page).path} has ${names.join(', ')}`;
  });
  const tool =
    facts.mcp === 'on'
      ? ` The tool \`prepare_form\` at \`${baseUrl}${routes.handOff.path}\` (Model Context Protocol, no credential) checks the values and returns this address.`
      : '';
  return `Without a credential, give the user a link to the form, filled in with what they told you. After \`#\`, its address has the values as \`application/x-www-form-urlencoded\`: \`${exampleOfFilled(facts)}\`.${tool} The user checks the values and sends the form. The fields:

${fields.join('\n')}`;
}

function link(title: string, url: string, note: string): string {
  return `- [${title}](${url}): ${note}`;
}

/** Name of the skill, and of its folder. */
export const SKILL = 'send-a-form';

export const DESCRIPTION =
  'Fill in one of the forms of this site for a user (request a quote, a walkthrough, a message, a subscription): preview it, show it to them, and send it once after their explicit yes.';

export function skillText(facts: Facts): string {
  const { baseUrl } = facts;
  const actions = formsOf(facts).map((form) => {
    const required = form.fields.filter((field) => field.required).map(({ name }) => `\`${name}\``);
    return `- \`${form.name}\`: ${form.purpose}. Required: ${required.join(', ')}.`;
  });
  const tools =
    facts.mcp === 'on'
      ? `\nIf you can use the Model Context Protocol, connect to \`${baseUrl}${routes.mcp.path}\` instead: its tools do the same.\n`
      : '';
  return `---
name: ${SKILL}
description: ${DESCRIPTION}
---

# Send a form for a user

${actions.join('\n')}

A bearer credential is needed; ${baseUrl}${linked.agents.path} says how to get one. It belongs to your program: never show it to a model.
${tools}
${handOff(facts)}

With a credential:

1. Ask the user for the required fields. Never make anything up.
2. POST them as one JSON object to ${baseUrl}${templateOf(routes.previewAction)}. Nothing is sent to anybody yet.
3. Show the user every field, the destination and the confirmation_statement that come back, and ask. Silence or an earlier instruction is not a yes.
4. Only after an explicit yes, POST \`preview_id\`, \`confirmation\` true and \`confirmation_text\` ("${CONFIRMATION_STATEMENT}") to ${baseUrl}${templateOf(routes.executeAction)}, with an \`Idempotency-Key\` header made once for this request and reused on a retry.
5. Tell the user, and keep the receipt. After a failure preview again and ask again; \`error\` says what comes next.

Where execute answers \`human_confirmation_required\`, POST \`preview_id\` with the same \`Idempotency-Key\` to ${baseUrl}${routes.createConfirmation.path}, give the user the \`confirmation_url\` (never press it for them), and GET ${baseUrl}${templateOf(routes.getConfirmation)} until its status is not pending.

Every field and its bounds: ${baseUrl}${routes.getAgentsDocument.path}
`;
}

/** Returns the index of skills. The digest in the index is the digest of the served bytes. */
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
