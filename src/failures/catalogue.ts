/**
 * The failure catalogue: spec §7.1 and §7.2, line by line, and contract §4. JSON bodies, HTML pages
 * and the responses of OpenAPI come from it. Sentences are fit to show a person and never repeat
 * the input; on the agent routes they name the next call.
 */
import { bounds } from '../forms/bounds.ts';

import { pages, routes } from '../routes.ts';

export type Problem = {
  /** 0 where the upstream's own status is passed through (spec §4.4). */
  status: number;
  /** A sentence, or one of the two codes of the specification. */
  error: string;
  /** Where the specification or the contract says so. */
  section: string;
  on: readonly ('agent' | 'form' | 'any')[];
  retryable?: true;
};

const problem = (status: number, section: string, on: Problem['on'], error: string): Problem => ({
  status,
  section,
  on,
  error,
});
const NEW_PREVIEW =
  'Call preview again, show the user the new preview and ask for their confirmation.';

export const problems = {
  // Agent routes, spec §7.1.
  unknownAction: problem(
    404,
    'spec §7.1',
    ['agent'],
    `There is no such action. GET ${routes.getManifest.path} lists the actions.`,
  ),
  unauthenticated: problem(
    401,
    'spec §7.1',
    ['agent'],
    `A valid bearer credential is needed in the Authorization header. The operator issues them; ${pages.agents.path} says how.`,
  ),
  insufficientScope: problem(
    403,
    'spec §7.1',
    ['agent'],
    'This credential lacks the scope for this call. Ask the operator for it.',
  ),
  actionsNotConfigured: problem(
    503,
    'spec §7.1',
    ['agent'],
    'Actions are not configured on this deployment. Nothing was sent.',
  ),
  storeUnavailable: problem(
    503,
    'spec §7.1',
    ['agent'],
    'The receipt storage is unavailable. Repeat the same request with the same Idempotency-Key later.',
  ),
  invalidFields: problem(
    400,
    'spec §7.1',
    ['agent'],
    'Some fields are not valid. Correct them and call preview again.',
  ),
  missingIdempotencyKey: problem(
    400,
    'spec §7.1',
    ['agent'],
    `Send one Idempotency-Key header: 1 to ${bounds.idempotencyKeyLength} printable ASCII characters, made once for each user request and reused on a retry.`,
  ),
  previewIdNotText: problem(
    400,
    'spec §7.1',
    ['agent'],
    'preview_id must be the string that preview returned. Call preview first.',
  ),
  invalidPreview: problem(
    400,
    'spec §7.1',
    ['agent'],
    `This preview_id is not valid. ${NEW_PREVIEW}`,
  ),
  expiredPreview: problem(400, 'spec §7.1', ['agent'], `This preview has expired. ${NEW_PREVIEW}`),
  otherAction: problem(
    400,
    'spec §7.1',
    ['agent'],
    'This preview belongs to a different action. Execute it under the action that was previewed.',
  ),
  notConfirmed: problem(
    409,
    'spec §7.1',
    ['agent'],
    'The user has not confirmed. Show them the fields, the destination and the confirmation_statement, then execute with confirmation true and that statement as confirmation_text.',
  ),
  inProgress: {
    ...problem(
      409,
      'spec §7.1',
      ['agent'],
      'This execution is in progress. Repeat the same request with the same Idempotency-Key.',
    ),
    retryable: true,
  },
  previewAlreadyUsed: problem(409, 'spec §7.1', ['agent'], 'preview_already_used'),
  idempotencyConflict: problem(409, 'spec §7.1', ['agent'], 'idempotency_conflict'),
  upstreamRejected: problem(
    0,
    'spec §7.1',
    ['agent'],
    `The destination rejected the submission. ${NEW_PREVIEW}`,
  ),
  upstreamRateLimited: problem(
    429,
    'spec §7.1',
    ['agent'],
    `The destination takes no more submissions for now. Wait as Retry-After says. ${NEW_PREVIEW}`,
  ),
  upstreamUnconfirmed: problem(
    502,
    'spec §7.1',
    ['agent'],
    `The destination could not confirm the submission. ${NEW_PREVIEW}`,
  ),

  // Form routes, spec §7.2.
  submissionsNotConfigured: problem(
    503,
    'spec §7.2',
    ['form'],
    'This form can’t be sent on this site at the moment. Nothing was sent.',
  ),
  contentType: problem(
    400,
    'contract §4',
    ['form'],
    'Send the form as application/json, application/x-www-form-urlencoded or multipart/form-data.',
  ),
  malformedForm: problem(400, 'spec §7.2', ['form'], 'The form could not be read.'),
  notText: problem(400, 'spec §7.2', ['form'], 'Every value must be a string in one flat object.'),
  fileUpload: problem(400, 'spec §7.2', ['form'], 'Files are not accepted.'),
  tooManyFields: problem(
    400,
    'spec §8',
    ['form'],
    `A form has at most ${bounds.fieldsPerRequest} fields.`,
  ),
  nameTooLong: problem(
    400,
    'spec §8',
    ['form'],
    `A field name has at most ${bounds.fieldNameLength} characters.`,
  ),
  valueTooLong: problem(
    413,
    'spec §8',
    ['form'],
    `A value is longer than ${bounds.valueLength} characters.`,
  ),
  invalidForm: problem(400, 'spec §7.2', ['form'], 'Some fields are missing or not valid.'),
  missingConsent: problem(
    400,
    'spec §7.2',
    ['form'],
    'The consent to the privacy notice is missing.',
  ),
  unconfirmed: problem(
    502,
    'spec §7.2',
    ['form'],
    'We could not confirm that your submission arrived. Please try again.',
  ),

  // Both, spec §7 and contract §4.
  rateLimited: problem(
    429,
    'spec §7',
    ['agent', 'form'],
    'Too many requests. Wait as long as Retry-After says, then repeat this one.',
  ),
  invalidJson: problem(400, 'spec §7', ['agent', 'form'], 'The body must be one JSON object.'),
  bodyTooLarge: problem(413, 'spec §7.2', ['agent', 'form'], 'The body is too large.'),
  bodyAborted: problem(400, 'contract §4', ['agent', 'form'], 'The body did not arrive whole.'),
  contentEncoding: problem(
    400,
    'contract §4',
    ['agent', 'form'],
    'A body with a Content-Encoding is not accepted.',
  ),
  charset: problem(400, 'contract §4', ['agent', 'form'], 'The body must be UTF-8.'),
  invalidUtf8: problem(400, 'contract §4', ['agent', 'form'], 'The body is not valid UTF-8.'),

  // Any route.
  notFound: problem(404, 'contract §4', ['any'], 'There is nothing at this address.'),
  methodNotAllowed: problem(
    405,
    'contract §4',
    ['any'],
    'This address does not take that method; Allow lists those it takes.',
  ),
  badRequest: problem(400, 'contract §4', ['any'], 'The request could not be read.'),
  requestTimeout: problem(408, 'contract §4', ['any'], 'The request took too long to arrive.'),
  headersTooLarge: problem(431, 'contract §4', ['any'], 'The request headers are too large.'),
  internal: problem(
    500,
    'contract §4',
    ['any'],
    'Something went wrong on our side. It has been logged.',
  ),
  shuttingDown: problem(
    503,
    'contract §4',
    ['any'],
    'The service is shutting down. Try again in a moment.',
  ),
} as const satisfies Record<string, Problem>;

export type ProblemKind = keyof typeof problems;
