/** Who may execute, or ask for it: what each such request meets before its preview is looked at (contract §4). */
import { checkBearer } from '../credentials/check.ts';
import { scopeOf } from '../credentials/scopes.ts';
import { bounds } from '../forms/bounds.ts';
import { parseJsonObject } from '../http/read-body.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { AgentRequest, PreviewParts } from './preview.ts';

type AdmissionParts = Pick<PreviewParts, 'credentials' | 'parties' | 'signingKeys'> & {
  upstream: Upstream | undefined;
};

/** Of any length (spec §4.4, contract §4). */
const PRINTABLE_ASCII = /^[ -~]+$/;

/** The client, where there is room in its limit, it may execute, and executions are configured; or the refusal. */
export async function admit(
  parts: AdmissionParts,
  { authorization, takeFromLimit }: Pick<AgentRequest, 'authorization' | 'takeFromLimit'>,
) {
  const rate = await takeFromLimit();
  if (rate.exceeded) {
    return { kind: 'rateLimited', retryAfterSeconds: rate.resetSeconds } as const;
  }
  const caller = authorize(parts, { authorization });
  if (caller.kind !== 'client') return caller;
  return isConfigured(parts) ? caller : ({ kind: 'actionsNotConfigured' } as const);
}

/** Who calls, where they may execute as of now; otherwise the refusal. */
export function authorize(
  { credentials }: Pick<AdmissionParts, 'credentials'>,
  { authorization }: Pick<AgentRequest, 'authorization'>,
) {
  const caller = checkBearer(credentials, authorization);
  if (caller.kind !== 'client') {
    return { kind: 'unauthenticated', credentialSent: caller.kind === 'invalid' } as const;
  }
  if (!caller.scopes.has(scopeOf.execute)) {
    return { kind: 'insufficientScope', scope: scopeOf.execute } as const;
  }
  return caller;
}

/** Whether there is somebody to send to and a key to read previews with. */
export function isConfigured({ parties, upstream, signingKeys }: AdmissionParts): boolean {
  return parties !== undefined && upstream !== undefined && signingKeys.length > 0;
}

/** The key of the request and the object in its body, which is read only where there is a key; or the refusal. */
export async function readKeyedBody({
  idempotencyKeys,
  readBody,
}: {
  /** Every line of the header, as it came. */
  idempotencyKeys: readonly string[];
  readBody: AgentRequest['readBody'];
}) {
  const [idempotencyKey, ...more] = idempotencyKeys;
  if (idempotencyKey === undefined || more.length > 0 || !isIdempotencyKey(idempotencyKey)) {
    return { kind: 'missingIdempotencyKey' } as const;
  }
  const body = await readBody();
  if (body.kind !== 'read') return body;
  const json = parseJsonObject(body.bytes);
  return json.kind === 'object'
    ? ({ kind: 'keyed', idempotencyKey, value: json.value } as const)
    : json;
}

/** Whether it can be a key (spec §4.4). */
function isIdempotencyKey(key: string): boolean {
  return key.length <= bounds.idempotencyKeyLength && PRINTABLE_ASCII.test(key);
}
