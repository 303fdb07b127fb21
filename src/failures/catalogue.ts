/**
 * The failure catalogue: status and sentence of each refusal (reference §18). JSON bodies, pages, tool results and
 * OpenAPI use it, and a test compares it with `docs/failures.md`. Each channel has its own words for the next step
 * (reference §8.9). `{wait}` becomes the seconds of `Retry-After`, a header that no model sees (reference §18.1).
 */
import { bounds } from '../forms/bounds.ts';
import { pages, type RouteName, routes } from '../routes.ts';
import { FORMS, formProblems } from './form-problems.ts';
import { hostProblems } from './host-problems.ts';
import { connectProblems, oauthProblems } from './oauth-problems.ts';
import { consoleProblems, newsletterProblems, pressProblems } from './page-problems.ts';
import { on, type Problem } from './problem.ts';
import type { Refusal } from './refusals.ts';

const ACTIONS: readonly RouteName[] = ['previewAction', 'executeAction'];
const EXECUTE_OR_ASK: readonly RouteName[] = ['executeAction', 'createConfirmation'];
const CONFIRMATION: readonly RouteName[] = ['getConfirmation', 'cancelConfirmation'];
const AGENT: readonly RouteName[] = [...ACTIONS, 'createConfirmation', ...CONFIRMATION, 'getReceipt'];
const TOOLS: readonly RouteName[] = ['mcp', 'handOff', 'connect'];

const execute = on(['executeAction'], '§5.7');
const executeOrAsk = on(EXECUTE_OR_ASK, '§5.7');
const ask = on(['createConfirmation'], '§6.5');
const agent = on([...ACTIONS, 'createConfirmation'], '§5.5');
const credential = on([...AGENT, 'mcp', 'connect'], '§16.1');
const stored = on([...EXECUTE_OR_ASK, ...CONFIRMATION, 'getReceipt'], '§5.5');
const receipt = on(['getReceipt', 'mcp', 'connect'], '§7.1');
const handOff = on(['handOff'], '§8.11');
const body = on([...ACTIONS, 'createConfirmation', ...FORMS, ...TOOLS], '§3.2');
const any = on('any', '§18.4');
const unrouted = on([], '§3.1');

const PREVIEW_TOOL_AGAIN = 'the preview tool again, show the user the new preview and ask for their confirmation.';
const PREVIEW_AGAIN = 'preview again, show the user the new preview and ask for their confirmation.';
const NEW_PREVIEW = {
  route: `Call ${PREVIEW_AGAIN}`,
  tool: `Call ${PREVIEW_TOOL_AGAIN}`,
};
const NEW_REQUEST = 'This call sent nothing. For a new request, call the preview tool and ask the user again.';
const SAME_CALL = 'Wait {wait}, then call this tool again with the same arguments';
const SENT_ONCE = 'A repeated call never sends anything twice.';
/** Next step if the form is on another site's page that has an older encoding. */
const AS_UTF8 = {
  route: 'Send the text as UTF-8.',
  page: 'The page that you used must be set to UTF-8. Please tell its operator, or use the form on our site.',
};
const BY_PERSON = { errorCode: 'human_confirmation_required' };

export type { Problem };

export const problems = {
  // Agent routes, reference §5.5.
  unknownAction: on(ACTIONS, '§5.5')(404, 'There is no such action.', {
    route: `GET ${routes.getManifest.path} lists the actions.`,
  }),
  unauthenticated: credential(401, 'The Authorization header must have a valid bearer credential.', {
    route: `The operator issues credentials. ${pages.agents.path} explains how to get one.`,
  }),
  insufficientScope: on(AGENT, '§16.2')(403, 'This credential lacks the scope for this call.', {
    route: 'Ask the operator for the scope.',
    tool: 'Tell the user that the operator can add the scope. Until then, this call fails again.',
  }),
  actionsNotConfigured: agent(503, 'Actions are not configured on this deployment. Nothing was sent.', {
    tool: 'Tell the user. This call fails again until the operator has configured actions.',
  }),
  storeUnavailable: stored(503, 'The service can’t reach its database.', {
    route: 'Wait {wait}, then repeat the request unchanged, with any Idempotency-Key.',
    tool: `${SAME_CALL}. ${SENT_ONCE}`,
    waitSeconds: 5,
  }),
  invalidFields: on(['previewAction'], '§2.10')(400, 'Some fields are not valid.', {
    route: 'Correct the fields and call preview again.',
    tool: 'Ask the user for each required field, leave out an optional field that you don’t know, and never invent a value. Then call this tool again with all fields.',
  }),
  missingIdempotencyKey: executeOrAsk(
    400,
    `Send one Idempotency-Key header with 1 to ${bounds.idempotencyKeyLength} printable ASCII characters. Create a key for each user request, and reuse the key on a retry.`,
  ),
  previewIdNotText: executeOrAsk(400, 'preview_id must be the string that preview returned.', {
    route: 'Call preview first.',
    tool: 'Call the preview tool of the action first.',
  }),
  invalidPreview: executeOrAsk(400, 'This preview_id is not valid.', NEW_PREVIEW),
  expiredPreview: executeOrAsk(400, 'This preview has expired.', NEW_PREVIEW),
  otherAction: execute(400, 'This preview belongs to a different action.', {
    route: 'Execute the preview under its own action.',
  }),
  notConfirmed: execute(409, 'The user has not confirmed.', {
    route:
      'Show the user the fields, the destination and the confirmation_statement. After an explicit yes, execute with confirmation true and the statement as confirmation_text.',
    tool: 'Show the user the fields, the destination and the confirmation_statement, and ask. After an explicit yes, call submit again with confirmation true and the statement as confirmation_text.',
  }),
  inProgress: on(['executeAction', 'cancelConfirmation'], '§5.8')(409, 'This execution is in progress.', {
    route: 'Wait {wait}, then repeat the same request. If it had an Idempotency-Key, use the same one.',
    tool: `${SAME_CALL}.`,
    retryable: true,
  }),
  previewAlreadyUsed: executeOrAsk(409, 'Another request already used this preview.', {
    route: `That request’s key has the receipt. For a new request, call ${PREVIEW_AGAIN}`,
    tool: NEW_REQUEST,
    errorCode: 'preview_already_used',
  }),
  idempotencyConflict: executeOrAsk(409, 'The key of this request belongs to another preview.', {
    route: 'Send the original preview again, or make a key for the new request.',
    tool: NEW_REQUEST,
    errorCode: 'idempotency_conflict',
  }),
  upstreamRejected: execute(0, 'The destination rejected the submission.', NEW_PREVIEW),
  upstreamRateLimited: execute(429, 'The destination accepts no more submissions for now.', {
    route: `Wait {wait}. ${NEW_PREVIEW.route}`,
    tool: `Wait {wait}. ${NEW_PREVIEW.tool}`,
  }),
  upstreamUnconfirmed: execute(502, 'The destination could not confirm the submission.', {
    route: NEW_PREVIEW.route,
    tool: `Tell the user that the submission may not have arrived. To try again, call ${PREVIEW_TOOL_AGAIN}`,
  }),

  // Refusals about confirmations that agents get (reference §8.8, §6.10).
  confirmationDeclined: on(EXECUTE_OR_ASK, '§6.3')(409, 'The user declined, and nothing was sent.', {
    route: `Only if the user changes their mind, call ${PREVIEW_AGAIN}`,
    tool: `Only if the user changes their mind, call ${PREVIEW_TOOL_AGAIN}`,
    errorCode: 'confirmation_declined',
  }),
  confirmationPending: on(['executeAction'], '§6.3')(
    409,
    'The user has not answered on the confirmation page yet. Nothing was sent.',
    {
      route: 'Wait {wait}, then repeat the same request with the same Idempotency-Key.',
      tool: 'Wait {wait}, then call get_receipt with the id of the confirmation as action_id.',
      ...BY_PERSON,
      retryable: true,
    },
  ),
  humanConfirmationRequired: on(['executeAction'], '§6.4')(
    409,
    'For this action, the user must confirm on a page of this service. Nothing was sent.',
    {
      route: `POST ${routes.createConfirmation.path} with the same preview_id, and give the user the confirmation_url.`,
      tool: 'Call request_confirmation with the same preview_id, and give the user the confirmation_url.',
      ...BY_PERSON,
    },
  ),
  clientReported: on(EXECUTE_OR_ASK, '§6.14')(
    403,
    'The owner of this e-mail address reported a request of this client as unwanted. Nothing was sent.',
    {
      route: 'Send no more requests for this address.',
      tool: 'Tell the user that you can’t send anything for this e-mail address through this service.',
    },
  ),
  viaNotValid: ask(400, 'via must be page or page_email, and at least the minimum of this action.', {
    route: `GET ${routes.getManifest.path} shows the minimum as confirmation_minimum.`,
    tool: 'Call this tool again without via.',
  }),
  codesNotConfigured: ask(503, 'This service can’t send codes by e-mail. No confirmation was created.', {
    route: 'Use via page.',
    tool: 'Call this tool again with via page.',
  }),
  tooManyPending: ask(429, 'This client has too many pending confirmations.', {
    route: 'Wait {wait}, or cancel a confirmation.',
    tool: `${SAME_CALL}.`,
  }),
  unknownConfirmation: on(CONFIRMATION, '§6.6')(404, 'There is no such confirmation for this client.'),
  ...pressProblems,
  ...consoleProblems,
  ...newsletterProblems,
  ...hostProblems,
  ...oauthProblems,
  ...connectProblems,
  unknownReceipt: receipt(404, 'There is no such receipt for this client.', {
    route: 'Use the action_id of an execution of this client that has ended.',
    tool: 'Use the action_id of a receipt that submit returned.',
  }),
  foreignOrigin: on(TOOLS, '§8.2')(403, 'This address accepts no requests from the pages of other sites.'),
  unknownForm: handOff(404, 'There is no such form. Nothing was sent.', {
    tool: 'Call this tool again with one of the names in its schema as form.',
  }),
  fieldsNotObject: handOff(400, 'fields must be an object. Nothing was sent.', {
    tool: 'Call this tool again with the values by the names of the form’s fields.',
  }),
  addressTooLong: handOff(
    400,
    `The address would have more than ${bounds.filledAddressLength} characters. Nothing was sent.`,
    { tool: 'Call this tool again without the longest value, and give the user that value to paste into the form.' },
  ),

  ...formProblems,

  // Agent and form routes, reference §18.
  rateLimited: on([...AGENT, ...FORMS, ...TOOLS, 'requestToken', 'revokeToken'], '§17.1')(429, 'Too many requests.', {
    route: 'Wait {wait}, then repeat this request.',
    tool: `${SAME_CALL}.`,
  }),
  invalidJson: body(400, 'The body must be one JSON object.'),
  jsonTooDeep: body(400, `The JSON is nested deeper than ${bounds.jsonDepth} levels.`),
  bodyTooLarge: body(413, 'The body is too large.'),
  bodyAborted: body(400, 'The body did not arrive completely.'),
  contentEncoding: body(400, 'Send the body without a Content-Encoding header.'),
  charset: body(400, 'The request declares an encoding other than UTF-8. Nothing was sent.', AS_UTF8),
  invalidUtf8: body(400, 'The text is not valid UTF-8. Nothing was sent.', AS_UTF8),

  // The content endpoint.
  unknownResource: on(['listContent'], '§14.4')(404, 'There is no such resource.', {
    route: `GET ${routes.listContent.path} lists the resources.`,
  }),

  // Any route, or no route.
  notFound: unrouted(404, 'There is nothing at this address.'),
  methodNotAllowed: unrouted(
    405,
    'This address does not support this method. The Allow header lists the supported ones.',
  ),
  badRequest: any(400, 'The request could not be read.'),
  requestTimeout: any(408, 'The request took too long to arrive.'),
  headersTooLarge: any(431, 'The request headers are too large.'),
  internal: any(500, 'Something went wrong on our side. We logged the error.', {
    tool: `Call this tool again with the same arguments. ${SENT_ONCE}`,
  }),
  shuttingDown: any(503, 'The service is shutting down. Try again in a moment.'),
} satisfies Record<Refusal['kind'], Problem>;
