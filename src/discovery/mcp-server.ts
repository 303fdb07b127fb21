/** Who the tools say they are (beyond §3), and with them the card of beyond §8. */
import type { Facts } from './facts.ts';
import { API_VERSION } from './facts.ts';

/** Newest first; the older two are served without a session as well. */
export const MCP_REVISIONS = ['2026-07-28', '2025-11-25', '2025-06-18'] as const;

/** Of all that might once stand at one host, the tools that take a lead. */
const SERVER = 'leads';

/** Takes the facts of the deployment; returns its name, `reverse.dns/leads`, and the words beside it. */
export function mcpServer({ baseUrl, operatorName }: Facts) {
  const { hostname } = new URL(baseUrl);
  const labels = hostname.match(/[^.:[\]]+/g) ?? [];
  return {
    name: [labels.reverse().join('.'), SERVER].join('/'),
    version: API_VERSION,
    title: `${operatorName}: forms that people confirm`,
    description: 'Preview a form for a user, show it to them, and send it once after their yes.',
  };
}
