/** Catalogues of the APIs and tools (reference §14.8). Addresses are absolute. */
import { pages, pathsOfPage, routes } from '../routes.ts';
import { exampleOfFilled, type Facts, formsOf, MCP_REVISIONS, mcpServer } from './deployment.ts';

/** Media type of the API catalogue (RFC 9727). */
export const API_CATALOG_TYPE = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"';
export const SERVER_CARD_TYPE = 'application/mcp-server-card+json';

/** Returns the linkset of the APIs of this deployment. */
export function apiCatalog({ baseUrl }: Facts) {
  const described = [routes.getAgentsDocument, routes.getOpenapiDocument].map(({ path }) => {
    return { href: baseUrl + path, type: 'application/json' };
  });
  const documentation = [{ href: baseUrl + pages.agents.path, type: 'text/html' }];
  return {
    linkset: [
      { anchor: baseUrl, 'service-desc': described, 'service-doc': documentation },
      { anchor: baseUrl + routes.apiCatalog.path, item: [{ href: baseUrl }] },
    ],
  };
}

/** Returns the server card of the tools: an address for clients with a credential, and one for anybody. */
export function serverCard(facts: Facts) {
  const { baseUrl } = facts;
  const token = {
    description: `A credential of this service; ${baseUrl}${pages.agents.path} says how to get one.`,
    isRequired: true,
    isSecret: true,
  };
  const withCredential = {
    type: 'streamable-http',
    url: baseUrl + routes.mcp.path,
    headers: [
      {
        name: 'Authorization',
        description: 'The credential of the client.',
        isRequired: true,
        isSecret: true,
        value: 'Bearer {token}',
        variables: { token },
      },
    ],
    supportedProtocolVersions: MCP_REVISIONS,
  };
  return cardOf(facts, [withCredential, openRemote(facts)]);
}

/** Returns the server card of the open hand-off alone (reference §8.11). */
export function handOffCard(facts: Facts) {
  return cardOf(facts, [openRemote(facts)]);
}

function openRemote({ baseUrl }: Facts) {
  return {
    type: 'streamable-http',
    url: baseUrl + routes.handOff.path,
    supportedProtocolVersions: MCP_REVISIONS,
  };
}

function cardOf(facts: Facts, remotes: readonly object[]) {
  const server = mcpServer(facts);
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
    ...server,
    websiteUrl: facts.baseUrl + pages.agents.path,
    remotes,
    _meta: { [`${server.name}-filled-in`]: filledForms(facts) },
  };
}

/** Describes the addresses of filled-in forms, which an assistant can make without a tool (reference §15.9). */
function filledForms(facts: Facts) {
  return {
    description:
      'A fragment of a form’s page fills in the form: names and values as application/x-www-form-urlencoded. The user checks the values and sends the form.',
    example: exampleOfFilled(facts),
    forms: formsOf(facts).map(({ name, page, fields }) => {
      return { form: name, page: facts.baseUrl + pathsOfPage(page).path, fields: fields.map((field) => field.name) };
    }),
  };
}
