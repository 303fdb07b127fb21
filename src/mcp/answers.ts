/** What a tool is called with, and what it answers: plain data, whatever the revision of the protocol. */
import type { ExecuteResult } from '../actions/examine-preview.ts';
import { digestOfPreview } from '../actions/preview-token.ts';
import type { Refusal } from '../failures/refusals.ts';
import type { Rate, RateName } from '../limits/limits.ts';
import type { questionOf } from './question.ts';
import { GET_RECEIPT, SUBMIT } from './tools.ts';

/** One call of a tool, with what the chains want of its request. */
export type AgentCall = {
  arguments: Readonly<Record<string, unknown>>;
  /** Every `Authorization` line of the request. */
  authorization: readonly string[];
  traceparent: string | undefined;
  takeFromLimit(name: RateName): Promise<Rate>;
  /** The client is of 2026-07-28 and declares that it can show a form. */
  canShowForms: boolean;
  /** What came back of a form that was asked for before. */
  question: { state: string | undefined; responses: unknown };
};

/** What of its request a tool wants. */
export type CallOfRequest = Pick<AgentCall, 'authorization' | 'traceparent' | 'takeFromLimit'>;

/** One message that was let in, and its headers of the protocol. */
export type McpMessage = {
  body: Record<string, unknown>;
  headers: Record<string, string>;
  call: CallOfRequest;
};

export type ToolAnswer =
  /** The body of the HTTP route, and the one sentence before it. */
  | { kind: 'done'; sentence: string; body: Record<string, unknown> }
  | { kind: 'refused'; refusal: Refusal }
  | { kind: 'asks'; question: ReturnType<typeof questionOf>; state: string }
  /** The state of a form that is not ours, or not for this call. */
  | { kind: 'wrongState' };

export const PREVIEWED = `Nothing was sent. Show the user every field, the destination and the confirmation_statement, and ask; only after an explicit yes call ${SUBMIT} with this preview_id.`;
const SENT = `It was sent. Tell the user, and keep the action_id: ${GET_RECEIPT} shows this receipt again.`;
export const RECEIPT = 'This is the receipt; it never changes.';
export const ASKED = `This call sends nothing itself. While it is pending, give the user the confirmation_url: they look and press there, nobody for them; then call ${GET_RECEIPT} with the id as action_id.`;
export const PENDING = `This is what became of the confirmation; while it is pending, wait five seconds and call ${GET_RECEIPT} again.`;

/** Of the preview, so that a repeat is a replay; ids of JSON-RPC begin at 0 in every process (beyond §3). */
export function keyOfTool(token: string): string {
  return `mcp:${digestOfPreview(token)}`;
}

/** A refusal as what a tool answers. */
export function refused(refusal: Refusal): ToolAnswer {
  return { kind: 'refused', refusal };
}

/** The end of an execution as what a tool answers: the body is the one of execute (spec §2.3). */
export function answerOfExecution(result: ExecuteResult): ToolAnswer {
  if (result.kind !== 'submitted') return refused(result);
  const { receipt, replay } = result;
  return {
    kind: 'done',
    sentence: SENT,
    body: replay ? { ok: true, receipt, replay } : { ok: true, receipt },
  };
}
