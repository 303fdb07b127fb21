/** The tool that sends a preview, with its checks in the order of reference §8.7. */
import { admit } from '../actions/authorize.ts';
import { declinePreview, type ExecuteParts, executePreview, refuseUnconfirmed } from '../actions/execute.ts';
import { CONFIRMATION_STATEMENT } from '../actions/preview.ts';
import { checkPreview } from '../actions/preview-token.ts';
import { type Facts, formsOf } from '../discovery/deployment.ts';
import { type AgentCall, answerOfExecution, keyOfTool, refused, type ToolAnswer } from './answers.ts';
import { answerIn, isSealed, questionOf, sealQuestion } from './elicitation.ts';

/**
 * Sends a preview once, shows a form to the person, or refuses.
 * @throws StorageUnavailable
 */
export async function submitTool(parts: ExecuteParts & { facts: Facts }, call: AgentCall): Promise<ToolAnswer> {
  const takeFromLimit = () => call.takeFromLimit('execute');
  const caller = await admit(parts, { authorization: call.authorization, takeFromLimit });
  if (caller.kind !== 'client') return refused(caller);

  const { preview_id: token, confirmation, confirmation_text: confirmationText } = call.arguments;
  if (typeof token !== 'string') return refused({ kind: 'previewIdNotText' });

  const examined = await checkPreview(parts, caller.name, keyOfTool(token), token);
  if (examined.kind !== 'open') return answerOfExecution(examined);
  const via = call.canShowForms ? 'client_form' : 'agent';
  const unconfirmed = await refuseUnconfirmed(parts, examined, via);
  if (unconfirmed !== undefined) return answerOfExecution(unconfirmed);

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
