/** /llms.txt in the format of llmstxt.org: a heading, a summary, notes, then sections of links. */
import { forms } from '../forms/catalog.ts';
import { escapeMarkdown } from '../site/placeholders.ts';
import { resourcePages, type SourcePage } from './content.ts';
import { type Facts, paths } from './facts.ts';

/** Takes the pages and the facts of the deployment; returns the text. */
export function llmsText(pages: readonly SourcePage[], facts: Facts): string {
  const { baseUrl } = facts;
  const operatorName = escapeMarkdown(facts.operatorName);
  const actions = Object.values(forms).map((form) => `- \`${form.name}\`: ${form.purpose}.`);
  const links = resourcePages(pages).map((page) =>
    link(escapeMarkdown(page.title), baseUrl + page.markdownPath, escapeMarkdown(page.description)),
  );
  return `# ${operatorName}

> ${operatorName} connects homeowners with one vetted painting contractor. People use the forms on its pages; agents that act for a user preview an action, get the user's explicit confirmation and execute it.

The actions:

${actions.join('\n')}

How an agent sends one:

1. Read the manifest for the fields, the scopes and the limits. A bearer credential is needed; ${baseUrl}${paths.agentsPage} says how to get one.
2. POST the fields to \`/api/agent/actions/{action}/preview\`. Nothing is sent to anybody yet.
3. Show the user the fields, the destination and the confirmation statement that came back.
4. Only if the user explicitly agrees, POST \`preview_id\`, \`confirmation\` and \`confirmation_text\` to \`/api/agent/actions/{action}/execute\` with an \`Idempotency-Key\`.

## For agents

${link('Agent manifest', baseUrl + paths.manifest, 'each action with its fields, endpoints, scopes and limits')}
${link('OpenAPI 3.1', baseUrl + paths.openapi, 'every route, body, response and event')}
${link('API reference', `${baseUrl}${paths.reference}.md`, 'the same to read')}
${link('Tool definitions', baseUrl + paths.tools, 'for the OpenAI and Anthropic APIs and for MCP')}
${link('Content index', baseUrl + paths.content, 'the pages below as JSON; `?resource=<id>` returns one')}

## Pages

${links.join('\n')}
`;
}

function link(title: string, url: string, note: string): string {
  return `- [${title}](${url}): ${note}`;
}
