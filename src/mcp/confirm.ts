/** The tool that has the person asked on their own page (beyond §3, §4), and what is told of it before its end. */
import { admit } from '../actions/admission.ts';
import { type AskParts, askFor } from '../confirmations/ask.ts';
import { receiptIn } from '../confirmations/confirmations.ts';
import { seenOf } from '../confirmations/look.ts';
import { type AgentCall, ASKED, keyOfTool, PENDING, refused, type ToolAnswer } from './answers.ts';

/** Asks under the key of `submit`, so that this is a replay after the press. Throws `StorageUnavailable`. */
export async function confirmTool(parts: AskParts, call: AgentCall): Promise<ToolAnswer> {
  const takeFromLimit = () => call.takeFromLimit('confirmations');
  const caller = await admit(parts, { authorization: call.authorization, takeFromLimit });
  if (caller.kind !== 'client') return refused(caller);

  const { preview_id: token, via } = call.arguments;
  if (typeof token !== 'string') return refused({ kind: 'previewIdNotText' });
  const client = caller.name;
  const answer = await askFor(parts, { client, key: keyOfTool(token), token, via });
  if (answer.kind !== 'confirmation') return refused(answer);
  return { kind: 'done', sentence: ASKED, body: { ok: true, confirmation: answer.record } };
}

/** What became of a confirmation that has no receipt; undefined where the client asked for none of that id. */
export async function confirmationSeen(
  { confirmations }: Pick<AskParts, 'confirmations'>,
  client: string,
  id: string,
): Promise<ToolAnswer | undefined> {
  const found = await confirmations.findOf(client, id);
  // Of what was sent, or failed, there is a receipt.
  if (found === undefined || receiptIn(found) !== undefined) return undefined;
  return { kind: 'done', sentence: PENDING, body: seenOf(found).body };
}
