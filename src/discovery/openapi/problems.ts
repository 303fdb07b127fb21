/** Which problems of the failure catalogue each operation can answer with (spec §7.1, §7.2). */
import type { ExecuteRefusal } from '../../actions/execute.ts';
import { type ProblemKind, problems } from '../../failures/catalogue.ts';
import type { AgentRefusal } from '../../failures/refusals.ts';
import { type DocumentedGroup, type OperationId, routes } from '../../routes.ts';

type AgentOnly = Exclude<ExecuteRefusal['kind'], AgentRefusal['kind']> | 'storeUnavailable';

/** The problems of a group that arise on one of its two operations alone. */
const executeAlone: Record<AgentOnly, 'executeAction'> = {
  missingIdempotencyKey: 'executeAction',
  previewIdNotText: 'executeAction',
  notConfirmed: 'executeAction',
  otherAction: 'executeAction',
  idempotencyConflict: 'executeAction',
  inProgress: 'executeAction',
  previewAlreadyUsed: 'executeAction',
  invalidPreview: 'executeAction',
  expiredPreview: 'executeAction',
  upstreamRejected: 'executeAction',
  upstreamRateLimited: 'executeAction',
  upstreamUnconfirmed: 'executeAction',
  storeUnavailable: 'executeAction',
};
const oneOperationAlone: Partial<Record<ProblemKind, OperationId>> = {
  ...executeAlone,
  invalidFields: 'previewAction',
  fileUpload: 'submitLead',
  notText: 'submitLead',
  tooManyFields: 'submitLead',
  nameTooLong: 'submitLead',
  valueTooLong: 'submitLead',
  missingConsent: 'subscribeNewsletter',
};

/** Answers to what is no operation: an unknown address, another method. */
const noOperation: ReadonlySet<ProblemKind> = new Set(['notFound', 'methodNotAllowed']);

const groups: Record<DocumentedGroup, 'agent' | 'form' | undefined> = {
  actions: 'agent',
  forms: 'form',
  discovery: undefined,
};

/** Takes an operation; returns the kinds of problem it can answer with. */
export function problemsOf(operationId: OperationId): ProblemKind[] {
  const group = groups[routes[operationId].group];
  return (Object.keys(problems) as ProblemKind[]).filter((kind) => {
    const on: readonly string[] = problems[kind].on;
    const alone = oneOperationAlone[kind];
    if (noOperation.has(kind) || (alone !== undefined && alone !== operationId)) return false;
    return on.includes('any') || (group !== undefined && on.includes(group));
  });
}
