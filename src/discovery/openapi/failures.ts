/** The failures of an operation as OpenAPI responses, rendered from the failure catalogue (reference §18). */
import { exampleReceipt } from '../../actions/examples.ts';
import { scopeOf } from '../../credentials/clients.ts';
import { type Problem, problems } from '../../failures/catalogue.ts';
import type {
  ConnectRefusal,
  ConsoleRefusal,
  NewsletterRefusal,
  OauthRefusal,
  PressRefusal,
  Refusal,
} from '../../failures/refusals.ts';
import { PROBLEM_TYPE, renderProblem } from '../../failures/render.ts';
import { type Field, forms } from '../../forms/catalog.ts';
import { type OperationId, pages, routes } from '../../routes.ts';
import { schema } from './components.ts';
import { DOCUMENT_HEADERS, headers as documented, json, RATE_HEADERS, response } from './responses.ts';

/**
 * Statuses of failures without the header RateLimit, because these failures come before the request is counted
 * (reference §17.1). Among the failures of leads, only 429 has the header. Discovery has no rates.
 */
const uncounted: Partial<Record<OperationId, readonly string[]>> = {
  previewAction: ['404', '408', '431'],
  executeAction: ['404', '408'],
  submitLead: ['400', '408', '413', '431', '502', '503'],
  subscribeNewsletter: ['408', '431', '503'],
};

/** Refusals of the agent routes that come before the credential is checked, and so never have the header Sandbox. */
const beforeCredential: ReadonlySet<string> = new Set<Refusal['kind']>([
  'unknownAction',
  'rateLimited',
  'unauthenticated',
  'badRequest',
  'requestTimeout',
  'headersTooLarge',
  'shuttingDown',
]);

/** Refusals that a documented route can return. Pages and hosts with OAuth get the others. */
type Documented = Exclude<Refusal, PressRefusal | ConsoleRefusal | NewsletterRefusal | OauthRefusal | ConnectRefusal>;

/** Example data for each refusal that has data. TypeScript reports a missing example. */
type Samples = {
  [R in Documented as Exclude<keyof R, 'kind'> extends never ? never : R['kind']]: Omit<R, 'kind'>;
};

const failed = { receipt: exampleReceipt('failed') };
const email = forms.newsletter.fields[0] as Field;
const samples: Samples = {
  unauthenticated: { credentialSent: true },
  insufficientScope: { scope: scopeOf.preview },
  invalidFields: { faults: [{ field: email, kind: 'email' }] },
  invalidForm: { faults: [{ field: email, kind: 'missing' }], missing: [email.name] },
  notText: { missing: [] },
  fileUpload: { missing: [] },
  tooManyFields: { missing: [] },
  nameTooLong: { missing: [] },
  valueTooLong: { missing: [] },
  missingConsent: { missing: ['privacy'] },
  rateLimited: { retryAfterSeconds: 30 },
  confirmationPending: { retryAfterSeconds: 5 },
  tooManyPending: { retryAfterSeconds: 300 },
  kept: {},
  left: {},
  upstreamRateLimited: { retryAfterSeconds: 30, ...failed },
  upstreamRejected: { status: 422, ...failed },
  upstreamUnconfirmed: { ...failed, replay: false },
};

/** Descriptions by status. For 404, they are by kind of refusal, because each kind means another unknown thing. */
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
  unknownAction: 'Unknown action. Call getManifest for the list of actions.',
  unknownReceipt: 'No such receipt: of another client, of nobody, or of an execution that has not ended.',
  unknownResource: 'Unknown resource. Call listContent without it.',
};

type Example = { status: string; headers: string[]; name: string; body: object };

/** Returns the failures of an operation: one response for each status, with one example for each problem. */
export function failureResponses(operationId: OperationId): Record<string, object> {
  const { group } = routes[operationId];
  const byStatus = Map.groupBy(examplesOf(operationId), (example) => example.status);
  const responses = [...byStatus].map(([status, examples]): [string, object] => {
    const description =
      descriptions[status] ?? descriptions[examples[0]?.name ?? ''] ?? `Status ${status}; \`error\` says why.`;
    const bodies = Object.fromEntries(examples.map(({ name, body }) => [name, body]));
    const content = {
      ...json(group === 'forms' ? schema('FormProblem') : schemaOf(examples), bodies),
      // The examples are those of the usual body. A second set would double the document.
      ...(group !== 'discovery' && { [PROBLEM_TYPE]: { schema: schema('ProblemDetails') } }),
      ...(group === 'forms' && { 'text/html': { schema: { type: 'string' } } }),
    };
    const before = uncounted[operationId] ?? ['408', '431'];
    const isCounted = group !== 'discovery' && !before.includes(status);
    // The failure passes on the destination's answer, so the execution has a receipt (reference §5.9, §10.3).
    const isRelayed =
      operationId === 'executeAction' && status.startsWith('4') && !['401', '403', '404', '408'].includes(status);
    const headers = examples.flatMap((example) => example.headers);
    const isMarked = group === 'actions' && examples.some(({ name }) => !beforeCredential.has(name));
    const further = [
      ...(isCounted || isRelayed ? RATE_HEADERS : []),
      ...(isRelayed ? ['Link'] : []),
      ...(isMarked ? ['Sandbox'] : []),
    ];
    return [status, response(group, description, content, [...headers, ...further])];
  });
  return Object.fromEntries(responses);
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
  if (kind === 'insufficientScope' && operationId === 'executeAction') return { kind, scope: scopeOf.execute };
  // A subscription has no reference, because a reference would reveal the time of an earlier request (reference §9.8).
  if (operationId === 'submitLead' && (kind === 'kept' || kind === 'left')) {
    return { kind, reference: documented['Submission-Reference'].example };
  }
  return { kind, ...(samples as Partial<Record<string, object>>)[kind] } as Refusal;
}

function exampleOf(operationId: OperationId, name: string, refusal: Refusal): Example {
  const as = routes[operationId].group === 'forms' ? 'json' : 'agent';
  const { status, headers, body } = renderProblem(refusal, as);
  const further = refusal.kind === 'unknownResource' ? DOCUMENT_HEADERS : [];
  return {
    // The status 0 in the catalogue means every other 4xx of the upstream (reference §5.9).
    status: problems[refusal.kind].status === 0 ? '4XX' : String(status),
    headers: [...Object.keys(headers), ...further],
    name,
    body,
  };
}

function schemaOf(examples: Example[]): object {
  const isFailed = ({ body }: Example) => Object.hasOwn(body, 'receipt');
  const [problem, failedExecution] = [schema('Problem'), schema('FailedExecution')];
  if (examples.every(isFailed)) return failedExecution;
  return examples.some(isFailed) ? { anyOf: [problem, failedExecution] } : problem;
}
