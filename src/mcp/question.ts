/**
 * The form by which a host asks the person (beyond §3), and the state that goes there and back with it. The
 * state is an HMAC over whom it was given to and for what: it says nothing, and without the same arguments
 * it is worth nothing. It ends with its preview, which is one of them.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { CONFIRMATION_STATEMENT } from '../actions/confirmation-statement.ts';
import type { OpenPreview } from '../actions/examine-preview.ts';
import type { Form } from '../forms/catalog.ts';
import type { SigningKeys } from '../settings/signing-keys.ts';
import { SUBMIT } from './tools.ts';

/** The name of the request, and of its one property. */
export const QUESTION = 'confirmation';
const ANSWER = 'confirmation_text';
const DO_NOT_SEND = 'Do not send';

const PURPOSE = 'lead-intake mcp question v1\n';

/** What the host is asked to show: an answer can't be empty, and none is chosen before the person chooses. */
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

/** Takes what is asked about, and the form in the operator's words; values are JSON, so that none is prose. */
export function questionOf({ preview }: OpenPreview, { fields }: Form) {
  const lines = fields.flatMap(({ name, label }) => {
    const value = preview.fields[name];
    return value === undefined ? [] : [`${label}: ${JSON.stringify(value)}`];
  });
  const to = `This goes to: ${JSON.stringify(preview.destination)}`;
  return { message: [to, ...lines, CONFIRMATION_STATEMENT].join('\n'), requestedSchema };
}

export type Answered = 'sent' | 'declined' | 'unanswered';

/** Takes what a host sent back as the answer; whatever is neither a yes nor a no is none. */
export function answerIn(responses: unknown): Answered {
  const response = memberOf(responses, QUESTION);
  const action = memberOf(response, 'action');
  if (action === 'decline') return 'declined';
  const text = action === 'accept' ? memberOf(memberOf(response, 'content'), ANSWER) : undefined;
  if (text === CONFIRMATION_STATEMENT) return 'sent';
  return text === DO_NOT_SEND ? 'declined' : 'unanswered';
}

/** Whether there is an answer to the question at all. */
export function isAnswered(responses: unknown): boolean {
  return memberOf(responses, QUESTION) !== undefined;
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

/** The state for a client's call with these arguments. At least one key. */
export function sealQuestion(keys: SigningKeys, client: string, call: unknown[]): string {
  const [key] = keys;
  if (key === undefined) throw new Error('No key to sign the state of a form with.');
  return sign(key, client, call);
}

/** Whether a state was given to this client for this call. */
export function isSealed(
  keys: SigningKeys,
  state: string,
  client: string,
  call: unknown[],
): boolean {
  const given = Buffer.from(state);
  return keys.some((key) => {
    const expected = Buffer.from(sign(key, client, call));
    return expected.length === given.length && timingSafeEqual(expected, given);
  });
}

function sign(key: Buffer, client: string, call: unknown[]): string {
  return createHmac('sha256', key)
    .update(PURPOSE + JSON.stringify([client, SUBMIT, ...call]))
    .digest('base64url');
}
