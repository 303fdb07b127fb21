/** The tool that sends, top to bottom, in the order of beyond §3, "`submit` in order". */
import { admit } from '../actions/admission.ts';
import { CONFIRMATION_STATEMENT } from '../actions/confirmation-statement.ts';
import { examinePreview } from '../actions/examine-preview.ts';
import {
  declinePreview,
  type ExecuteParts,
  executePreview,
  refuseUnconfirmed,
} from '../actions/execute.ts';
import { type Facts, formsOf } from '../discovery/facts.ts';
import {
  type AgentCall,
  answerOfExecution,
  keyOfTool,
  refused,
  type ToolAnswer,
} from './answers.ts';
import { answerIn, isAnswered, isSealed, questionOf, sealQuestion } from './question.ts';

/** Sends once, asks, or says why not. Throws `StorageUnavailable`. */
export async function submitTool(
  parts: ExecuteParts & { facts: Facts },
  call: AgentCall,
): Promise<ToolAnswer> {
  const takeFromLimit = () => call.takeFromLimit('execute');
  const caller = await admit(parts, { authorization: call.authorization, takeFromLimit });
  if (caller.kind !== 'client') return refused(caller);

  const { preview_id: token, confirmation, confirmation_text: confirmationText } = call.arguments;
  if (typeof token !== 'string') return refused({ kind: 'previewIdNotText' });

  const examined = await examinePreview(parts, caller.name, keyOfTool(token), token);
  if (examined.kind !== 'open') return answerOfExecution(examined);
  const via = call.canShowForms ? 'client_form' : 'agent';
  const unconfirmed = await refuseUnconfirmed(parts, examined, via);
  if (unconfirmed !== undefined) return answerOfExecution(unconfirmed);

  if (!call.canShowForms) {
    if (confirmation !== true || confirmationText !== CONFIRMATION_STATEMENT) {
      return refused({ kind: 'notConfirmed' });
    }
    const executed = await executePreview(parts, call, { ...examined, confirmedVia: 'agent' });
    return answerOfExecution(executed);
  }

  const sealed = [token, confirmation ?? null, confirmationText ?? null];
  const { state, responses } = call.question;
  if (state !== undefined && !isSealed(parts.signingKeys, state, caller.name, sealed)) {
    return { kind: 'wrongState' };
  }
  if (state === undefined || !isAnswered(responses)) {
    const form = formsOf(parts.facts).find(({ name }) => name === examined.form.name);
    return {
      kind: 'asks',
      question: questionOf(examined, form ?? examined.form),
      state: sealQuestion(parts.signingKeys, caller.name, sealed),
    };
  }
  switch (answerIn(responses)) {
    case 'sent':
      return answerOfExecution(
        await executePreview(parts, call, { ...examined, confirmedVia: 'client_form' }),
      );
    case 'declined':
      return answerOfExecution(await declinePreview(parts, examined));
    default:
      return refused({ kind: 'confirmationUnanswered' });
  }
}
