/** /llms.txt in the format of llmstxt.org: a heading, a summary, notes, then sections of links. */
import { forms } from '../forms/catalog.ts';
import { pages as linked, routes, templateOf } from '../routes.ts';
import { escapeMarkdown } from '../site/placeholders.ts';
import { resourcePages, type SourcePage } from './content.ts';
import type { Facts } from './facts.ts';

/** Takes the pages and the facts of the deployment; returns the text. */
export function llmsText(pages: readonly SourcePage[], facts: Facts): string {
  const { baseUrl } = facts;
  const operatorName = escapeMarkdown(facts.operatorName);
  const actions = Object.values(forms).map((form) => `- \`${form.name}\`: ${form.purpose}.`);
  const links = resourcePages(pages).map((page) =>
    link(escapeMarkdown(page.title), baseUrl + page.markdownPath, escapeMarkdown(page.description)),
  );
  const mcp =
    facts.mcp === 'on'
      ? `${link('Model Context Protocol', baseUrl + routes.mcp.path, 'the same actions as tools, for hosts that connect to such; with the credential as a bearer token')}\n`
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

## For agents

${link('Agent manifest', baseUrl + routes.getManifest.path, 'each action with its fields, endpoints, scopes and limits')}
${mcp}${link('OpenAPI 3.1 of the agent actions', baseUrl + routes.getAgentsDocument.path, 'a path and a plain body for each action')}
${link('OpenAPI 3.1', baseUrl + routes.getOpenapiDocument.path, 'the API: its calls, bodies, responses and events')}
${link('API reference', baseUrl + linked.reference.markdownPath, 'the same to read')}
${link('Tool definitions', baseUrl + routes.toolIndex.path, 'for the OpenAI and Anthropic APIs and for MCP')}
${link('Receipt keys', baseUrl + routes.getReceiptKeys.path, 'what signed receipts are verified with, as a JSON Web Key Set')}
${link('Content index', baseUrl + routes.listContent.path, 'the pages below as JSON; `?resource=<id>` returns one')}

## Pages

${links.join('\n')}
`;
}

function link(title: string, url: string, note: string): string {
  return `- [${title}](${url}): ${note}`;
}
