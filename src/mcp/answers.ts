/** Types of a tool's call and its answer. The types are the same for every revision of the protocol. */
import { digestOfPreview, type ExecuteResult } from '../actions/preview-token.ts';
import type { Authorization } from '../credentials/file.ts';
import type { Refusal } from '../failures/refusals.ts';
import type { Rate, RateName } from '../limits/limits.ts';
import type { questionOf } from './elicitation.ts';
import { GET_RECEIPT, type ToolDefinition } from './tools.ts';

/** The parts of an HTTP request that a tool needs. */
export type CallOfRequest = {
  /** Values of all `Authorization` header lines, or the authority of a connection over OAuth. */
  authorization: Authorization;
  traceparent: string | undefined;
  takeFromLimit(name: RateName): Promise<Rate>;
};

/** One call of a tool. */
export type AgentCall = CallOfRequest & {
  arguments: Readonly<Record<string, unknown>>;
  /** True if the client uses 2026-07-28 and declares that it can show a form. */
  canShowForms: boolean;
  /** True if the client declares MCP Apps. */
  canShowCard: boolean;
  /** The client's answer to a form that an earlier call asked it to show. */
  question: { state: string | undefined; responses: unknown };
};

/** One accepted message, with its protocol headers. */
export type McpMessage = { body: Record<string, unknown>; headers: Record<string, string>; call: CallOfRequest };

/** The tools of an endpoint. */
export type Toolset = {
  /** Text for the client's model about all tools together. */
  instructions: string;
  definitions: readonly ToolDefinition[];
  functions: ReadonlyMap<string, ToolFunction>;
  /** Returns the card for previews as an HTML document (reference §8.12). Undefined if there are no previews. */
  card?: () => string;
};

/** Answers a call. Throws `StorageUnavailable`. */
export type ToolFunction = (call: AgentCall) => Promise<ToolAnswer>;

export type ToolAnswer =
  /** A success: one sentence, then the body that the HTTP route would send. `meta` is for the card. */
  | { kind: 'done'; sentence: string; body: Record<string, unknown>; meta?: Record<string, string> }
  | { kind: 'refused'; refusal: Refusal; meta?: Record<string, string> }
  | { kind: 'asks'; question: ReturnType<typeof questionOf>; state: string }
  /** The state of a form is forged, or belongs to another call. */
  | { kind: 'wrongState' };

/**
 * Returns the idempotency key of a tool call. The key is made from the preview, so that a repeated call is a replay
 * (reference §8.5 rule 5).
 */
export function keyOfTool(token: string): string {
  return `mcp:${digestOfPreview(token)}`;
}

export function refused(refusal: Refusal): ToolAnswer {
  return { kind: 'refused', refusal };
}

/** Returns the result of an execution with the body of the execute route (reference §5.9). */
export function answerOfExecution(result: ExecuteResult): ToolAnswer {
  if (result.kind !== 'submitted') return refused(result);
  const { receipt, replay } = result;
  const sentence = `It was sent. Tell the user, and keep the action_id: ${GET_RECEIPT} shows this receipt again.`;
  return { kind: 'done', sentence, body: replay ? { ok: true, receipt, replay } : { ok: true, receipt } };
}
