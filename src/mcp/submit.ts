/** The tools that send a preview, with their checks in the order of reference §8.7. */
import { admit } from '../actions/authorize.ts';
import { declinePreview, type ExecuteParts, executePreview, partsFor, refuseUnconfirmed } from '../actions/execute.ts';
import { CONFIRMATION_STATEMENT } from '../actions/preview.ts';
import { checkPreview, type OpenPreview } from '../actions/preview-token.ts';
import { type Facts, formsOf } from '../discovery/deployment.ts';
import type { ConfirmedVia } from '../storage/schema.ts';
import { type AgentCall, answerOfExecution, keyOfTool, refused, type ToolAnswer } from './answers.ts';
import { forCard } from './card.ts';
import { answerIn, isSealed, questionOf, sealQuestion } from './elicitation.ts';

type SubmitParts = ExecuteParts & { facts: Facts };

/**
 * Sends a preview once, shows a form to the person, or refuses.
 * @throws StorageUnavailable
 */
export async function submitTool(all: SubmitParts, call: AgentCall): Promise<ToolAnswer> {
  const caller = await admitCall(all, call);
  if (caller.kind !== 'client') return refused(caller);
  const parts = partsFor(all, caller);

  const via = call.canShowForms ? 'client_form' : 'agent';
  const examined = await examine(parts, call, caller.name, via);
  if (examined.kind !== 'open') return examined;

  const { preview_id: token, confirmation, confirmation_text: confirmationText } = call.arguments;
  if (!call.canShowForms) {
    const isConfirmed = confirmation === true && confirmationText === CONFIRMATION_STATEMENT;
    if (!isConfirmed) return refused({ kind: 'notConfirmed' });
    return answerOfExecution(await executePreview(parts, call, { ...examined, confirmedVia: via }));
  }

  const sealed = [token, confirmation ?? null, confirmationText ?? null];
  const { state, responses } = call.question;
  if (state !== undefined && !isSealed(parts.signingKeys, state, caller.name, sealed)) return { kind: 'wrongState' };
  const answer = state === undefined ? undefined : answerIn(responses);
  if (answer === undefined) {
    const form = formsOf(parts.facts).find(({ name }) => name === examined.form.name);
    return {
      kind: 'asks',
      question: questionOf(examined, form ?? examined.form),
      state: sealQuestion(parts.signingKeys, caller.name, sealed),
    };
  }
  switch (answer) {
    case 'sent':
      return answerOfExecution(await executePreview(parts, call, { ...examined, confirmedVia: via }));
    case 'declined':
      return answerOfExecution(await declinePreview(parts, examined));
    default:
      return refused({ kind: 'confirmationUnanswered' });
  }
}

/**
 * Sends a preview once, or records that the person declined. The buttons of the card call it (reference §8.12).
 * @throws StorageUnavailable
 */
export async function submitFromCardTool(parts: SubmitParts, call: AgentCall): Promise<ToolAnswer> {
  return forCard(await submitFromCard(parts, call));
}

async function submitFromCard(all: SubmitParts, call: AgentCall): Promise<ToolAnswer> {
  const caller = await admitCall(all, call);
  if (caller.kind !== 'client') return refused(caller);
  const parts = partsFor(all, caller);
  if (!call.canShowCard) return refused({ kind: 'appsNotDeclared' });

  const { decision } = call.arguments;
  if (decision !== 'send' && decision !== 'decline') return refused({ kind: 'decisionNotValid' });
  const examined = await examine(parts, call, caller.name, 'client_form');
  if (examined.kind !== 'open') return examined;
  if (decision === 'decline') return answerOfExecution(await declinePreview(parts, examined));
  return answerOfExecution(await executePreview(parts, call, { ...examined, confirmedVia: 'client_form' }));
}

function admitCall(parts: SubmitParts, { authorization, takeFromLimit }: AgentCall) {
  return admit(parts, { authorization, takeFromLimit: () => takeFromLimit('execute') });
}

/** Returns the preview if this client may confirm it in this way, or the answer of the tool. */
async function examine(
  parts: SubmitParts,
  { arguments: { preview_id: token } }: AgentCall,
  client: string,
  via: ConfirmedVia,
): Promise<OpenPreview | ToolAnswer> {
  if (typeof token !== 'string') return refused({ kind: 'previewIdNotText' });
  const examined = await checkPreview(parts, client, keyOfTool(token), token);
  if (examined.kind !== 'open') return answerOfExecution(examined);
  const unconfirmed = await refuseUnconfirmed(parts, examined, via);
  return unconfirmed === undefined ? examined : answerOfExecution(unconfirmed);
}
