/**
 * The form by which a host asks the person (reference §8.8), and its state. The state is an HMAC over the client and
 * the arguments of the call. So the state contains no data and is valid only for this call. The state expires with its
 * preview, which is one of the arguments.
 */

import { CONFIRMATION_STATEMENT } from '../actions/preview.ts';
import type { OpenPreview } from '../actions/preview-token.ts';
import type { Form } from '../forms/catalog.ts';
import { isObject } from '../http/request.ts';
import { isSignedFor, type SigningKeys, signFor } from '../settings/signing-keys.ts';
import { SUBMIT } from './tools.ts';

/** Names of the form's request, and of the only property in the form. */
export const QUESTION = 'confirmation';
const ANSWER = 'confirmation_text';
const DO_NOT_SEND = 'Do not send';

const PURPOSE = 'lead-intake mcp question v1\n';

/** The schema of the form. An answer can't be empty, and no answer is preselected. */
const requestedSchema = {
  type: 'object' as const,
  properties: {
    [ANSWER]: {
      type: 'string' as const,
      title: 'May this be sent?',
      oneOf: [CONFIRMATION_STATEMENT, DO_NOT_SEND].map((each) => ({ const: each, title: each })),
    },
  },
  required: [ANSWER],
};

/** Returns the form for a preview. Values are JSON, so that no value looks like a text of the service. */
export function questionOf({ fields, execution }: OpenPreview, form: Form) {
  const lines = form.fields.flatMap(({ name, label }) => {
    const value = fields[name];
    return value === undefined ? [] : [`${label}: ${JSON.stringify(value)}`];
  });
  const to = `This goes to: ${JSON.stringify(execution.destination)}`;
  return { message: [to, ...lines, CONFIRMATION_STATEMENT].join('\n'), requestedSchema };
}

/**
 * Returns the answer that a host sent back, or undefined if there is no answer. Anything except a clear yes or no
 * counts as `unanswered`.
 */
export function answerIn(responses: unknown): 'sent' | 'declined' | 'unanswered' | undefined {
  const response = memberOf(responses, QUESTION);
  if (response === undefined) return undefined;
  const action = memberOf(response, 'action');
  if (action === 'decline') return 'declined';
  const text = action === 'accept' ? memberOf(memberOf(response, 'content'), ANSWER) : undefined;
  if (text === CONFIRMATION_STATEMENT) return 'sent';
  return text === DO_NOT_SEND ? 'declined' : 'unanswered';
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** Returns the state for a client's call with these arguments. Throws if `keys` is empty. */
export function sealQuestion(keys: SigningKeys, client: string, call: unknown[]): string {
  return signFor(PURPOSE, keys, JSON.stringify([client, SUBMIT, ...call]));
}

/** Returns true if the state was made for this client and call. */
export function isSealed(keys: SigningKeys, state: string, client: string, call: unknown[]): boolean {
  return isSignedFor(PURPOSE, keys, JSON.stringify([client, SUBMIT, ...call]), state);
}
