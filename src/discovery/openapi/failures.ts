/** The failures of an operation as OpenAPI responses, rendered from the failure catalogue (spec §7). */
import { exampleReceipt } from '../../actions/examples.ts';
import { scopeOf } from '../../credentials/scopes.ts';
import { type Problem, problems } from '../../failures/catalogue.ts';
import type { Refusal } from '../../failures/refusals.ts';
import { renderProblem } from '../../failures/render.ts';
import { forms } from '../../forms/catalog.ts';
import type { DocumentedGroup } from '../../route-groups.ts';
import { type OperationId, pages, routes } from '../../routes.ts';
import { reference } from './components.ts';
import {
  DOCUMENT_HEADERS,
  headers as documented,
  json,
  RATE_HEADERS,
  response,
} from './responses.ts';

/** Answers that carry no RateLimit: those given before the request is counted (contract §4), and of leads all but 429. */
const uncounted: Partial<Record<OperationId, readonly string[]>> = {
  previewAction: ['404', '408', '431'],
  executeAction: ['404', '408'],
  createConfirmation: ['408', '431'],
  getConfirmation: ['408', '431'],
  cancelConfirmation: ['408', '431'],
  getReceipt: ['408', '431'],
  submitLead: ['400', '408', '413', '431', '502', '503'],
  subscribeNewsletter: ['408', '431', '503'],
};

/** What a kind carries beside its kind, for the examples: TypeScript asks for each that carries anything. */
type Samples = {
  [R in Refusal as Exclude<keyof R, 'kind'> extends never ? never : R['kind']]: Omit<R, 'kind'>;
};

const failed = { receipt: exampleReceipt('failed') };
const [email] = forms.newsletter.fields;
if (email === undefined) throw new Error('The newsletter form has no field.');
const emailFault = { field: email, kind: 'email' } as const;
const samples: Samples = {
  unauthenticated: { credentialSent: true },
  insufficientScope: { scope: scopeOf.preview },
  invalidFields: { faults: [emailFault] },
  invalidForm: { faults: [{ ...emailFault, kind: 'missing' }], missing: [email.name] },
  notText: { missing: [] },
  fileUpload: { missing: [] },
  tooManyFields: { missing: [] },
  nameTooLong: { missing: [] },
  valueTooLong: { missing: [] },
  missingConsent: { missing: ['privacy'] },
  rateLimited: { retryAfterSeconds: 30 },
  confirmationPending: { retryAfterSeconds: 5 },
  tooManyPending: { retryAfterSeconds: 300 },
  pressTooOften: { retryAfterSeconds: 30 },
  signInTooOften: { retryAfterSeconds: 30 },
  newsletterTooOften: { retryAfterSeconds: 30 },
  newsletterUnknown: { retryAfterSeconds: 30 },
  tooManyCodes: { retryAfterSeconds: 3600 },
  noFurtherCode: { retryAfterSeconds: 86_400 },
  noCode: { retryAfterSeconds: 86_400 },
  kept: {},
  left: {},
  upstreamRateLimited: { retryAfterSeconds: 30, ...failed },
  upstreamRejected: { status: 422, ...failed },
  upstreamUnconfirmed: { ...failed, replay: false },
};

const descriptions: Record<string, string> = {
  400: 'The request can’t be used as it is. `error` says what to correct, or which call comes next.',
  401: `No valid credential was sent. GET ${pages.agents.path} says how the operator issues one.`,
  403: 'The credential lacks the scope. Ask the operator for it.',
  408: 'The request took too long to arrive. Repeat it.',
  409: 'Not executed by this call. `error` says what comes next: ask the user, repeat the same request, or call previewAction again.',
  413: 'The body, or in a native form one value, is too large.',
  429: 'Too many requests. Wait as many seconds as Retry-After says.',
  431: 'The request headers are too large.',
  '4XX':
    'The destination rejected the submission with this status; the receipt is `failed`. Call previewAction again and ask the user again.',
  500: 'Something went wrong on the side of the service.',
  502: 'The destination failed or could not confirm.',
  503: 'Not configured, not available, or shutting down. `error` says which.',
};

/** A 404 says by its kind what is unknown. */
const unknown: Record<string, string> = {
  unknownAction: 'Unknown action. Call getManifest for the list of actions.',
  unknownReceipt:
    'No such receipt: of another client, of nobody, or of an execution that has not ended.',
  unknownResource: 'Unknown resource. Call listContent without it.',
};

type Example = { status: string; headers: string[]; name: string; body: unknown };

/** Takes an operation; returns its failures: one response a status, one example a problem. */
export function failureResponses(operationId: OperationId): Record<string, object> {
  const { group } = routes[operationId];
  const byStatus = Map.groupBy(examplesOf(operationId), (example) => example.status);
  const responses = [...byStatus].map(([status, examples]): [string, object] => {
    const description =
      descriptions[status] ??
      unknown[examples[0]?.name ?? ''] ??
      `Status ${status}; \`error\` says why.`;
    const bodies = Object.fromEntries(examples.map(({ name, body }) => [name, body]));
    const content = {
      ...json(schemaOf(group, examples), bodies),
      ...(group === 'forms' ? { 'text/html': { schema: { type: 'string' } } } : {}),
    };
    const counted = uncounted[operationId]?.includes(status) === false;
    const headers = examples.flatMap((example) => example.headers);
    const relayed = operationId === 'executeAction' && isRelayed(status);
    const further = [...(counted || relayed ? RATE_HEADERS : []), ...(relayed ? ['Link'] : [])];
    return [status, response(group, description, content, [...headers, ...further])];
  });
  return Object.fromEntries(responses);
}

/** Whether a destination's own answer comes with that status: then the execution has a receipt (spec §4.4, contract §3). */
function isRelayed(status: string): boolean {
  return status.startsWith('4') && !['401', '403', '404', '408'].includes(status);
}

function examplesOf(operationId: OperationId): Example[] {
  const kinds = (Object.keys(problems) as Refusal['kind'][]).filter((kind) => {
    const { operations }: Problem = problems[kind];
    return operations === 'any' || operations.includes(operationId);
  });
  const examples = kinds.map((kind) => exampleOf(operationId, kind, sampleOf(kind, operationId)));
  if (operationId === 'executeAction') {
    const replayed: Refusal = { kind: 'upstreamUnconfirmed', ...failed, replay: true };
    examples.push(exampleOf(operationId, 'replayOfFailed', replayed));
  }
  return examples;
}

function sampleOf(kind: Refusal['kind'], operationId: OperationId): Refusal {
  if (kind === 'insufficientScope' && operationId === 'executeAction') {
    return { kind, scope: scopeOf.execute };
  }
  // A subscription has none: it would date an earlier request (beyond §1).
  if (operationId === 'submitLead' && (kind === 'kept' || kind === 'left')) {
    return { kind, reference: String(documented['Submission-Reference'].example) };
  }
  return { kind, ...(samples as Partial<Record<string, object>>)[kind] } as Refusal;
}

function exampleOf(operationId: OperationId, name: string, refusal: Refusal): Example {
  const as = routes[operationId].group === 'forms' ? 'json' : 'agent';
  const { status, headers, body } = renderProblem(refusal, as);
  // The catalogue's 0: whatever 4xx the upstream answered (spec §4.4).
  const passedThrough = problems[refusal.kind].status === 0;
  const isDocument = refusal.kind === 'unknownResource';
  return {
    status: passedThrough ? '4XX' : String(status),
    headers: Object.keys(headers).concat(isDocument ? DOCUMENT_HEADERS : []),
    name,
    body,
  };
}

function schemaOf(group: DocumentedGroup, examples: Example[]): object {
  if (group === 'forms') return reference('schemas', 'FormProblem');
  const isFailed = ({ body }: Example) => Object.hasOwn(body as object, 'receipt');
  const problem = reference('schemas', 'Problem');
  const failed = reference('schemas', 'FailedExecution');
  if (examples.every(isFailed)) return failed;
  return examples.some(isFailed) ? { anyOf: [problem, failed] } : problem;
}
