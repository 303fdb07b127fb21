/** The part of the failure catalogue about the person's answer in a host: its forms and the card (reference §8.8, §8.12). */
import { on, type Problem } from './problem.ts';
import type { HostRefusal } from './refusals.ts';

const card = on(['mcp', 'connect'], '§8.12');

export const hostProblems = {
  confirmationUnanswered: on(['mcp', 'connect'], '§8.2')(409, 'The user did not answer. Nothing was sent.', {
    tool: 'To ask again, call request_confirmation with the same preview_id and give the user the confirmation_url. You can also call submit again, which asks the user directly.',
  }),
  appsNotDeclared: card(403, 'Only the card of a preview may call this tool. Nothing was sent.', {
    tool: 'This client does not declare MCP Apps. Call submit or request_confirmation.',
  }),
  decisionNotValid: card(400, 'decision must be send or decline. Nothing was sent.', {
    tool: 'Call this tool again with one of them.',
  }),
} satisfies Record<HostRefusal['kind'], Problem>;
