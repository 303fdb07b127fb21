/** The function of each tool, without the protocol. */
import { admit, admitReader } from '../actions/authorize.ts';
import { partsFor } from '../actions/execute.ts';
import { preview } from '../actions/preview.ts';
import { receiptIn } from '../confirmations/confirmations.ts';
import { foundOf } from '../confirmations/read-and-cancel.ts';
import { type RequestParts, requestFor } from '../confirmations/request-confirmation.ts';
import { type Facts, formsOf } from '../discovery/deployment.ts';
import type { FormName } from '../forms/catalog.ts';
import { once } from '../platform/lazy.ts';
import type { Receipts } from '../receipts/receipts.ts';
import type { Frame } from '../site/layout.ts';
import { type AgentCall, keyOfTool, refused, type ToolAnswer, type ToolFunction, type Toolset } from './answers.ts';
import { forCard, MINIMUM, renderCard } from './card.ts';
import { submitFromCardTool, submitTool } from './submit.ts';
import {
  GET_RECEIPT,
  INSTRUCTIONS,
  previewToolName,
  REQUEST_CONFIRMATION,
  SUBMIT,
  SUBMIT_FROM_CARD,
  toolDefinitions,
} from './tools.ts';

export type ToolParts = RequestParts & { facts: Facts; receipts: Receipts; frame(): Frame };

/** Returns the tools for clients with a credential. */
export function agentTools(parts: ToolParts): Toolset {
  const { facts } = parts;
  const functions = new Map<string, ToolFunction>([
    ...formsOf(facts).map((form): [string, ToolFunction] => {
      return [previewToolName(form), (call) => previewTool(parts, form.name, call)];
    }),
    [SUBMIT, (call) => submitTool(parts, call)],
    [
      REQUEST_CONFIRMATION,
      async (call) => {
        const answer = await confirmTool(parts, call);
        return call.canShowCard ? forCard(answer) : answer;
      },
    ],
    [GET_RECEIPT, (call) => receiptTool(parts, call)],
    [SUBMIT_FROM_CARD, (call) => submitFromCardTool(parts, call)],
  ]);
  const card = once(() => renderCard(facts, parts.frame()));
  return { instructions: INSTRUCTIONS, definitions: toolDefinitions(facts), functions, card };
}

/** Makes a preview with the arguments as fields (reference §5.3). */
async function previewTool(parts: ToolParts, action: FormName, call: AgentCall): Promise<ToolAnswer> {
  const result = await preview(parts, {
    action,
    authorization: call.authorization,
    takeFromLimit: () => call.takeFromLimit('preview'),
    readFields: async () => ({ kind: 'object', value: call.arguments }),
  });
  if (result.kind !== 'previewed') return refused(result);
  const sentence = `Nothing was sent. Show the user every field, the destination and the confirmation_statement, and ask; only after an explicit yes call ${SUBMIT} with this preview_id.`;
  const { record, ignored } = result;
  const lost = `This form has no such field, so these arguments were ignored: ${ignored.join(', ')}.`;
  const meta = { [MINIMUM]: parts.confirmationMinimum[action] };
  return {
    kind: 'done',
    sentence: ignored.length === 0 ? sentence : `${sentence} ${lost}`,
    body: record,
    ...(call.canShowCard && { meta }),
  };
}

/**
 * Requests a confirmation on the page (reference §6.5). The confirmation has the same idempotency key as `submit`. So a
 * call of `submit` after the person confirmed is a replay.
 */
async function confirmTool(parts: ToolParts, call: AgentCall): Promise<ToolAnswer> {
  const takeFromLimit = () => call.takeFromLimit('confirmations');
  const caller = await admit(parts, { authorization: call.authorization, takeFromLimit });
  if (caller.kind !== 'client') return refused(caller);

  const { preview_id: token, via } = call.arguments;
  if (typeof token !== 'string') return refused({ kind: 'previewIdNotText' });
  const answer = await requestFor(partsFor(parts, caller), { client: caller.name, key: keyOfTool(token), token, via });
  if (answer.kind !== 'confirmation') return refused(answer);
  const sentence = `This call sends nothing itself. While it is pending, give the user the confirmation_url: they look and press there, nobody for them; then call ${GET_RECEIPT} with the id as action_id.`;
  return { kind: 'done', sentence, body: { ok: true, confirmation: answer.record } };
}

/** Returns the receipt of an execution of this client. Returns the confirmation if there is no receipt yet. */
async function receiptTool(parts: ToolParts, call: AgentCall): Promise<ToolAnswer> {
  const { action_id: id } = call.arguments;
  const takeFromLimit = () => call.takeFromLimit('reads');
  const caller = await admitReader(parts, { authorization: call.authorization, takeFromLimit });
  if (caller.kind !== 'client') return refused(caller);
  const confirmation = typeof id === 'string' ? await parts.confirmations.findOf(caller.name, id) : undefined;
  if (confirmation !== undefined && receiptIn(confirmation) === undefined) {
    const sentence = `This is what became of the confirmation; while it is pending, wait five seconds and call ${GET_RECEIPT} again.`;
    return { kind: 'done', sentence, body: foundOf(confirmation).body };
  }
  const result = await parts.receipts.find(caller.name, id);
  if (result.kind !== 'found') return refused(result);
  return { kind: 'done', sentence: 'This is the receipt; it never changes.', body: result.record };
}
