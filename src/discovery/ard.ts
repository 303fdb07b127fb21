/** The manifest of Agentic Resource Discovery (ARD 0.91, reference §14.12). Registries read it and build their search. */
import { pathTo, routes } from '../routes.ts';
import { handOffCard, SERVER_CARD_TYPE } from './catalogs.ts';
import { type Facts, formsOf, mcpServer } from './deployment.ts';
import { DESCRIPTION, SKILL } from './model-texts.ts';

/** Media type of a skill in Markdown, as ARD's list of types has it. */
const SKILL_TYPE = 'text/markdown; profile="urn:air:agent-skills"';

/** ARD asks for 2 to 5 queries in an entry. */
const MAXIMUM_QUERIES = 5;

/** Returns the manifest: tools, open hand-off and skill. Without MCP it has the skill only. */
export function ardManifest(facts: Facts) {
  const { baseUrl, operatorName } = facts;
  const { title, description } = mcpServer(facts);
  // A registry finds an entry by these sentences.
  const representativeQueries = formsOf(facts)
    .map(({ purpose }) => purpose)
    .slice(0, MAXIMUM_QUERIES);
  const tools = {
    identifier: nameOf(facts, 'mcp:leads'),
    displayName: title,
    type: SERVER_CARD_TYPE,
    url: baseUrl + routes.serverCard.path,
    description,
    representativeQueries,
  };
  const handOff = {
    identifier: nameOf(facts, 'mcp:open'),
    displayName: `${operatorName}: forms filled in for people, without a credential`,
    type: SERVER_CARD_TYPE,
    data: handOffCard(facts),
    description: 'Get a link to a form that is filled in for a user. They check it and send it.',
    representativeQueries,
  };
  const skill = {
    identifier: nameOf(facts, `skill:${SKILL}`),
    displayName: `${operatorName}: how to send a form for a user`,
    type: SKILL_TYPE,
    url: baseUrl + pathTo(routes.skill, { skill: SKILL }),
    description: DESCRIPTION,
    representativeQueries,
  };
  return {
    // ARD 0.91 ignores this member. Validators of its predecessor refuse a manifest without it.
    specVersion: '1.0',
    host: { displayName: operatorName },
    entries: facts.mcp === 'on' ? [tools, handOff, skill] : [skill],
  };
}

/** Returns the URN of a resource. Its authority is the host's name, without the port and without brackets of IPv6. */
function nameOf({ baseUrl }: Facts, resource: string): string {
  const authority = new URL(baseUrl).hostname.replace(/[^a-z0-9.-]+/g, '-');
  return `urn:air:${authority}:${resource}`;
}
