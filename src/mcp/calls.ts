/** Each tool by its name: the chain it calls, and nothing of the protocol. */
import { preview } from '../actions/preview.ts';
import type { AskParts } from '../confirmations/ask.ts';
import { checkBearer } from '../credentials/check.ts';
import { type Facts, formsOf } from '../discovery/facts.ts';
import { previewToolName } from '../discovery/tools.ts';
import { readReceipt } from '../receipts/read.ts';
import type { Receipts } from '../receipts/receipts.ts';
import { type AgentCall, PREVIEWED, RECEIPT, refused, type ToolAnswer } from './answers.ts';
import { confirmationSeen, confirmTool } from './confirm.ts';
import { submitTool } from './submit.ts';
import { GET_RECEIPT, REQUEST_CONFIRMATION, SUBMIT } from './tools.ts';

export type ToolParts = AskParts & { facts: Facts; receipts: Receipts };

type Tool = (parts: ToolParts, call: AgentCall) => Promise<ToolAnswer>;

/** Takes the facts of the deployment; returns what each tool does. Tools throw `StorageUnavailable`. */
export function toolsByName(facts: Facts): ReadonlyMap<string, Tool> {
  const previews = formsOf(facts).map((form) => {
    const run: Tool = (parts, call) => previewTool(parts, form.name, call);
    return [previewToolName(form), run] as const;
  });
  return new Map([
    ...previews,
    [SUBMIT, submitTool],
    [REQUEST_CONFIRMATION, confirmTool],
    [GET_RECEIPT, receiptTool],
  ]);
}

/** The chain of spec §4.3: the arguments are its body. */
async function previewTool(parts: ToolParts, action: string, call: AgentCall): Promise<ToolAnswer> {
  const result = await preview(parts, {
    action,
    authorization: call.authorization,
    takeFromLimit: () => call.takeFromLimit('preview'),
    readBody: async () => ({ kind: 'read', bytes: Buffer.from(JSON.stringify(call.arguments)) }),
  });
  if (result.kind !== 'previewed') return refused(result);
  return { kind: 'done', sentence: PREVIEWED, body: result.record };
}

/** What the client itself executed; of nobody else's is anything said. */
async function receiptTool(parts: ToolParts, call: AgentCall): Promise<ToolAnswer> {
  const { action_id: actionId } = call.arguments;
  const rate = await call.takeFromLimit('reads');
  const caller = checkBearer(parts.credentials, call.authorization);
  if (!rate.exceeded && caller.kind === 'client' && typeof actionId === 'string') {
    const seen = await confirmationSeen(parts, caller.name, actionId);
    if (seen !== undefined) return seen;
  }
  const result = await readReceipt(parts, {
    actionId,
    authorization: call.authorization,
    takeFromLimit: async () => rate,
  });
  if (result.kind !== 'found') return refused(result);
  return { kind: 'done', sentence: RECEIPT, body: result.record };
}
