/**
 * The failure catalogue: what is said of each refusal, spec §7.1 and §7.2 line by line, and contract §4.
 * JSON bodies, HTML pages, results of tools and the responses of OpenAPI come from it, and `docs/failures.md`
 * is held equal to it. Sentences are fit to show a person and never repeat the input; what to do next is said
 * in the words of each channel (beyond §3). `{wait}` is filled in with the seconds of `Retry-After`, which a
 * model never sees (contract §4).
 */
import { bounds } from '../forms/bounds.ts';
import { pages, type RouteName, routes } from '../routes.ts';
import { ASKING, confirmationProblems, EXECUTING, LOOKING } from './confirmation-problems.ts';
import { consoleProblems } from './console-problems.ts';
import { newsletterProblems } from './newsletter-problems.ts';
import { on, type Problem } from './problem.ts';
import type { Refusal } from './refusals.ts';

const AGENT: readonly RouteName[] = ['previewAction', 'executeAction'];
const FORMS: readonly RouteName[] = ['submitLead', 'subscribeNewsletter'];

const agent = on(AGENT, 'spec §7.1');
const execute = on(['executeAction'], 'spec §7.1');
const executing = on(EXECUTING, 'spec §7.1');
const form = on(FORMS, 'spec §7.2');
const lead = on(['submitLead'], 'spec §7.2');
const bound = on(['submitLead'], 'spec §8');
const sent = on([...AGENT, ...ASKING, ...LOOKING, 'getReceipt', ...FORMS, 'mcp'], 'spec §7');
const posted = on([...AGENT, ...ASKING, ...FORMS, 'mcp'], 'spec §7');
const body = on([...AGENT, ...ASKING, ...FORMS, 'mcp'], 'contract §4');
const mcp = on(['mcp'], 'beyond §3');
const any = on('any', 'contract §4');
const unrouted = on([], 'contract §4');

const NEW_PREVIEW = {
  route: 'Call preview again, show the user the new preview and ask for their confirmation.',
  tool: 'Call the preview tool again, show the user the new preview and ask for their confirmation.',
};
const WANTED_AFTER_ALL = 'Only if the user wants it after all:';

export type { Problem };

export const problems = {
  // Agent routes, spec §7.1.
  unknownAction: agent(404, 'There is no such action.', {
    route: `GET ${routes.getManifest.path} lists the actions.`,
  }),
  unauthenticated: on([...AGENT, ...ASKING, ...LOOKING, 'getReceipt', 'mcp'], 'spec §7.1')(
    401,
    'A valid bearer credential is needed in the Authorization header.',
    { route: `The operator issues them; ${pages.agents.path} says how.` },
  ),
  insufficientScope: on([...AGENT, ...ASKING, ...LOOKING], 'spec §7.1')(
    403,
    'This credential lacks the scope for this call.',
    {
      route: 'Ask the operator for it.',
      tool: 'Tell the user: the operator can add the scope, and calling again changes nothing.',
    },
  ),
  actionsNotConfigured: on([...AGENT, ...ASKING], 'spec §7.1')(
    503,
    'Actions are not configured on this deployment. Nothing was sent.',
    { tool: 'Tell the user: calling again changes nothing until the operator has set it up.' },
  ),
  storeUnavailable: {
    ...on([...EXECUTING, ...LOOKING, 'getReceipt'], 'spec §7.1')(
      503,
      'The receipt storage is unavailable.',
      {
        route:
          'Wait {wait}, then repeat the same request, an execution with the same Idempotency-Key.',
        tool: 'Wait {wait}, then call this tool again with the same arguments: whatever happens, it is sent once.',
      },
    ),
    waitSeconds: 5,
  },
  invalidFields: on(['previewAction'], 'spec §7.1')(400, 'Some fields are not valid.', {
    route: 'Correct them and call preview again.',
    tool: 'Ask the user, never make anything up, and call this tool again with all fields.',
  }),
  missingIdempotencyKey: executing(
    400,
    `Send one Idempotency-Key header: 1 to ${bounds.idempotencyKeyLength} printable ASCII characters, made once for each user request and reused on a retry.`,
  ),
  previewIdNotText: executing(400, 'preview_id must be the string that preview returned.', {
    route: 'Call preview first.',
    tool: 'Call the preview tool of the action first.',
  }),
  invalidPreview: executing(400, 'This preview_id is not valid.', NEW_PREVIEW),
  expiredPreview: executing(400, 'This preview has expired.', NEW_PREVIEW),
  otherAction: execute(400, 'This preview belongs to a different action.', {
    route: 'Execute it under the action that was previewed.',
  }),
  notConfirmed: execute(409, 'The user has not confirmed.', {
    route:
      'Show them the fields, the destination and the confirmation_statement, then execute with confirmation true and that statement as confirmation_text.',
    tool: 'Show them the fields, the destination and the confirmation_statement and ask. After an explicit yes call submit again, with confirmation true and that statement as confirmation_text.',
  }),
  inProgress: {
    ...on(['executeAction', 'cancelConfirmation'], 'spec §7.1')(
      409,
      'This execution is in progress.',
      {
        route: 'Wait {wait}, then repeat the same request with the same Idempotency-Key.',
        tool: 'Wait {wait}, then call this tool again with the same arguments.',
      },
    ),
    retryable: true,
  },
  previewAlreadyUsed: executing(
    409,
    'This preview was already used by another request.',
    {
      tool: 'This call sent nothing. For a new request call the preview tool and ask the user again.',
    },
    'preview_already_used',
  ),
  idempotencyConflict: executing(
    409,
    'The key of this request was used with another preview.',
    {
      tool: 'This call sent nothing. For a new request call the preview tool and ask the user again.',
    },
    'idempotency_conflict',
  ),
  upstreamRejected: execute(0, 'The destination rejected the submission.', NEW_PREVIEW),
  upstreamRateLimited: execute(429, 'The destination takes no more submissions for now.', {
    route: `Wait {wait}. ${NEW_PREVIEW.route}`,
    tool: `Wait {wait}. ${NEW_PREVIEW.tool}`,
  }),
  upstreamUnconfirmed: execute(502, 'The destination could not confirm the submission.', {
    route: NEW_PREVIEW.route,
    tool: `Tell the user that it may not have arrived. To try again: ${NEW_PREVIEW.tool}`,
  }),

  // What a person answers, beyond §3 and §4.
  confirmationDeclined: on(EXECUTING, 'beyond §4')(
    409,
    'The user has declined, and nothing was sent.',
    { tool: `${WANTED_AFTER_ALL} ${NEW_PREVIEW.tool}` },
    'confirmation_declined',
  ),
  ...confirmationProblems,
  ...consoleProblems,
  ...newsletterProblems,
  confirmationUnanswered: mcp(409, 'The user was asked and did not answer. Nothing was sent.', {
    tool: 'Ask them whether it may be sent: call request_confirmation with the same preview_id and give them the confirmation_url, or call submit again, which asks them once more.',
  }),
  unknownReceipt: on(['getReceipt', 'mcp'], 'beyond §5')(
    404,
    'There is no such receipt for this client.',
    {
      route: 'Use the action_id of an execution of this client that has ended.',
      tool: 'Use the action_id of a receipt that submit returned.',
    },
  ),
  foreignOrigin: mcp(403, 'This address takes no requests from the pages of other sites.'),

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
  kept: on(FORMS, 'spec §7.2, beyond §1')(
    502,
    'We could not confirm yet that your submission arrived. What you wrote is kept and will be passed on: you need not send it again.',
  ),
  left: on(FORMS, 'spec §7.2, beyond §1')(
    502,
    'Your submission could not be passed on by itself. What you wrote is kept, and the operator of this site has it: you need not send it again.',
  ),
  subscriptionNotKept: {
    ...on(['subscribeNewsletter'], 'beyond §6')(
      503,
      'Your subscription could not be taken at the moment. Please wait {wait}, then try again.',
    ),
    waitSeconds: 60,
  },
  unconfirmed: form(502, 'We could not confirm that your submission arrived. Please try again.'),
  unsent: form(502, 'Your submission could not be passed on. Nothing was sent. Please try again.'),

  // Agent and form routes, spec §7 and contract §4.
  rateLimited: sent(429, 'Too many requests.', {
    route: 'Wait {wait}, then repeat this one.',
    tool: 'Wait {wait}, then call this tool again with the same arguments.',
  }),
  invalidJson: posted(400, 'The body must be one JSON object.'),
  bodyTooLarge: on([...AGENT, ...ASKING, ...FORMS, 'mcp'], 'spec §7.2, contract §4')(
    413,
    'The body is too large.',
  ),
  bodyAborted: body(400, 'The body did not arrive whole.'),
  contentEncoding: body(400, 'A body with a Content-Encoding is not accepted.'),
  charset: body(400, 'The body must be UTF-8.'),
  invalidUtf8: body(400, 'The body is not valid UTF-8.'),

  // The content endpoint.
  unknownResource: on(['listContent'], 'spec §4.2')(404, 'There is no such resource.', {
    route: `GET ${routes.listContent.path} lists them.`,
  }),

  // Any route, and none.
  notFound: unrouted(404, 'There is nothing at this address.'),
  methodNotAllowed: unrouted(
    405,
    'This address does not take that method; Allow lists those it takes.',
  ),
  badRequest: any(400, 'The request could not be read.'),
  requestTimeout: any(408, 'The request took too long to arrive.'),
  headersTooLarge: any(431, 'The request headers are too large.'),
  internal: any(500, 'Something went wrong on our side. It has been logged.', {
    tool: 'Call this tool again with the same arguments: whatever happens, it is sent once.',
  }),
  shuttingDown: any(503, 'The service is shutting down. Try again in a moment.'),
} satisfies Record<Refusal['kind'], Problem>;
