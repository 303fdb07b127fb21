/**
 * The failure catalogue: what is said of each refusal, spec §7.1 and §7.2 line by line, and contract §4.
 * JSON bodies, HTML pages and the responses of OpenAPI come from it, and `docs/failures.md` is held equal
 * to it. Sentences are fit to show a person and never repeat the input; on the agent routes they name the
 * next call. `{wait}` is filled in with the seconds of `Retry-After`, which a model never sees (contract §4).
 */
import { bounds } from '../forms/bounds.ts';
import { type OperationId, pages, routes } from '../routes.ts';
import type { Refusal } from './refusals.ts';

export type Problem = {
  /** 0 where the upstream's own status is passed through (spec §4.4). */
  status: number;
  /** A sentence, or one of the two codes of the specification. */
  error: string;
  /** Where the specification or the contract says so. */
  section: string;
  /** The operations it can arise on; none of them where no route was found. */
  operations: readonly OperationId[] | 'any';
  retryable?: true;
};

const on =
  (operations: Problem['operations'], section: string) =>
  (status: number, error: string): Problem => ({ status, error, section, operations });

const AGENT: readonly OperationId[] = ['previewAction', 'executeAction'];
const FORMS: readonly OperationId[] = ['submitLead', 'subscribeNewsletter'];

const agent = on(AGENT, 'spec §7.1');
const execute = on(['executeAction'], 'spec §7.1');
const form = on(FORMS, 'spec §7.2');
const lead = on(['submitLead'], 'spec §7.2');
const bound = on(['submitLead'], 'spec §8');
const sent = on([...AGENT, ...FORMS], 'spec §7');
const body = on([...AGENT, ...FORMS], 'contract §4');
const any = on('any', 'contract §4');
const unrouted = on([], 'contract §4');

const NEW_PREVIEW =
  'Call preview again, show the user the new preview and ask for their confirmation.';

export const problems = {
  // Agent routes, spec §7.1.
  unknownAction: agent(
    404,
    `There is no such action. GET ${routes.getManifest.path} lists the actions.`,
  ),
  unauthenticated: agent(
    401,
    `A valid bearer credential is needed in the Authorization header. The operator issues them; ${pages.agents.path} says how.`,
  ),
  insufficientScope: agent(
    403,
    'This credential lacks the scope for this call. Ask the operator for it.',
  ),
  actionsNotConfigured: agent(
    503,
    'Actions are not configured on this deployment. Nothing was sent.',
  ),
  storeUnavailable: execute(
    503,
    'The receipt storage is unavailable. Repeat the same request with the same Idempotency-Key later.',
  ),
  invalidFields: on(['previewAction'], 'spec §7.1')(
    400,
    'Some fields are not valid. Correct them and call preview again.',
  ),
  missingIdempotencyKey: execute(
    400,
    `Send one Idempotency-Key header: 1 to ${bounds.idempotencyKeyLength} printable ASCII characters, made once for each user request and reused on a retry.`,
  ),
  previewIdNotText: execute(
    400,
    'preview_id must be the string that preview returned. Call preview first.',
  ),
  invalidPreview: execute(400, `This preview_id is not valid. ${NEW_PREVIEW}`),
  expiredPreview: execute(400, `This preview has expired. ${NEW_PREVIEW}`),
  otherAction: execute(
    400,
    'This preview belongs to a different action. Execute it under the action that was previewed.',
  ),
  notConfirmed: execute(
    409,
    'The user has not confirmed. Show them the fields, the destination and the confirmation_statement, then execute with confirmation true and that statement as confirmation_text.',
  ),
  inProgress: {
    ...execute(
      409,
      'This execution is in progress. Wait {wait}, then repeat the same request with the same Idempotency-Key.',
    ),
    retryable: true,
  },
  previewAlreadyUsed: execute(409, 'preview_already_used'),
  idempotencyConflict: execute(409, 'idempotency_conflict'),
  upstreamRejected: execute(0, `The destination rejected the submission. ${NEW_PREVIEW}`),
  upstreamRateLimited: execute(
    429,
    `The destination takes no more submissions for now. Wait {wait}. ${NEW_PREVIEW}`,
  ),
  upstreamUnconfirmed: execute(
    502,
    `The destination could not confirm the submission. ${NEW_PREVIEW}`,
  ),

  // Form routes, spec §7.2.
  submissionsNotConfigured: form(
    503,
    'This form can’t be sent on this site at the moment. Nothing was sent.',
  ),
  contentType: on(FORMS, 'contract §4')(
    400,
    'Send the form as application/json, application/x-www-form-urlencoded or multipart/form-data.',
  ),
  malformedForm: form(400, 'The form could not be read.'),
  notText: lead(400, 'Every value must be a string in one flat object.'),
  fileUpload: lead(400, 'Files are not accepted.'),
  tooManyFields: bound(400, `A form has at most ${bounds.fieldsPerRequest} fields.`),
  nameTooLong: bound(400, `A field name has at most ${bounds.fieldNameLength} characters.`),
  valueTooLong: bound(413, `A value is longer than ${bounds.valueLength} characters.`),
  invalidForm: form(400, 'Some fields are missing or not valid.'),
  missingConsent: on(['subscribeNewsletter'], 'spec §7.2')(
    400,
    'The consent to the privacy notice is missing.',
  ),
  unconfirmed: form(502, 'We could not confirm that your submission arrived. Please try again.'),
  unsent: form(502, 'Your submission could not be passed on. Nothing was sent. Please try again.'),

  // Agent and form routes, spec §7 and contract §4.
  rateLimited: sent(429, 'Too many requests. Wait {wait}, then repeat this one.'),
  invalidJson: sent(400, 'The body must be one JSON object.'),
  bodyTooLarge: on([...AGENT, ...FORMS], 'spec §7.2, contract §4')(413, 'The body is too large.'),
  bodyAborted: body(400, 'The body did not arrive whole.'),
  contentEncoding: body(400, 'A body with a Content-Encoding is not accepted.'),
  charset: body(400, 'The body must be UTF-8.'),
  invalidUtf8: body(400, 'The body is not valid UTF-8.'),

  // The content endpoint.
  unknownResource: on(['listContent'], 'spec §4.2')(
    404,
    `There is no such resource. GET ${routes.listContent.path} lists them.`,
  ),

  // Any route, and none.
  notFound: unrouted(404, 'There is nothing at this address.'),
  methodNotAllowed: unrouted(
    405,
    'This address does not take that method; Allow lists those it takes.',
  ),
  badRequest: any(400, 'The request could not be read.'),
  requestTimeout: any(408, 'The request took too long to arrive.'),
  headersTooLarge: any(431, 'The request headers are too large.'),
  internal: any(500, 'Something went wrong on our side. It has been logged.'),
  shuttingDown: any(503, 'The service is shutting down. Try again in a moment.'),
} satisfies Record<Refusal['kind'], Problem>;
