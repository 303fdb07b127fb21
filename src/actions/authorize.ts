/** Decides who may execute, request a confirmation or read: limit, credential, scope, settings (reference §5.5). */
import { SCOPES, type Scope, scopeOf } from '../credentials/clients.ts';
import { type Authorization, type Credentials, callerOf } from '../credentials/file.ts';
import { bounds } from '../forms/bounds.ts';
import { parseJsonObject, type ReadBody } from '../http/request.ts';
import type { Rate } from '../limits/limits.ts';
import type { SigningKeys } from '../settings/signing-keys.ts';
import type { ConfirmedVia } from '../storage/schema.ts';
import type { Parties } from '../submissions/submission.ts';
import type { Upstream } from '../upstream/upstream.ts';

/** A request of an agent. `takeFromLimit` counts the request, and runs at its place in the order of the checks. */
export type AgentRequest = {
  /** All lines of the `Authorization` header, unchanged, or the authority of a connection over OAuth. */
  authorization: Authorization;
  takeFromLimit(): Promise<Rate>;
  /** Called if the credential is of a sandbox client. Every answer from then on says so (reference §27.2). */
  onSandbox?(): void;
};

export type KeyedRequest = AgentRequest & {
  /** All lines of the `Idempotency-Key` header, unchanged. */
  idempotencyKeys: readonly string[];
  readBody(): Promise<ReadBody>;
};

type ReaderParts = { credentials: Credentials };

type ExecutorParts = ReaderParts & {
  /** Undefined while executions are not configured. */
  parties: Parties | undefined;
  signingKeys: SigningKeys;
  upstream: Upstream | undefined;
};

/** Returns the client or the refusal. Checks the limit, the credential, the scope of execute, then the settings. */
export async function admit(parts: ExecutorParts, request: AgentRequest) {
  const caller = await admitWith(parts, request, scopeOf.execute);
  if (caller.kind !== 'client') return caller;
  return isConfigured(parts) ? caller : ({ kind: 'actionsNotConfigured' } as const);
}

/** Returns the client or the refusal. Either scope allows reading receipts and confirmations (reference §6.6, §7.1). */
export async function admitReader(parts: ReaderParts, request: AgentRequest) {
  return await admitWith(parts, request, ...SCOPES);
}

/** Returns the client or the refusal. Checks the limit, then the credential and its scopes. One scope is enough. */
export async function admitWith(parts: ReaderParts, request: AgentRequest, ...scopes: readonly Scope[]) {
  const rate = await request.takeFromLimit();
  if (rate.exceeded) {
    return { kind: 'rateLimited', retryAfterSeconds: rate.resetSeconds } as const;
  }
  return authorize(parts, request, ...scopes);
}

/** Returns the client or the refusal. The credential must be valid now and have one of the scopes. */
export function authorize(
  { credentials }: ReaderParts,
  { authorization, onSandbox }: Pick<AgentRequest, 'authorization' | 'onSandbox'>,
  ...scopes: readonly Scope[]
) {
  const caller = callerOf(credentials, authorization);
  if (caller.kind !== 'client') {
    return { kind: 'unauthenticated', credentialSent: caller.kind === 'invalid' } as const;
  }
  if (caller.sandbox) onSandbox?.();
  if (!scopes.some((scope) => caller.scopes.has(scope))) {
    return { kind: 'insufficientScope', scope: scopes[0] ?? '' } as const;
  }
  return caller;
}

/** Ways to confirm, the weakest first. */
const STRENGTH: readonly ConfirmedVia[] = ['agent', 'client_form', 'page', 'page_email'];

/** Returns true if `via` is weaker than `minimum`, the weakest way to confirm that is accepted (reference §6.4). */
export function isWeaker(via: ConfirmedVia, minimum: ConfirmedVia): boolean {
  return STRENGTH.indexOf(via) < STRENGTH.indexOf(minimum);
}

/** Returns true if the settings name a receiver, an upstream and a key that opens previews. */
function isConfigured({ parties, upstream, signingKeys }: ExecutorParts): boolean {
  return parties !== undefined && upstream !== undefined && signingKeys.length > 0;
}

/** Returns the idempotency key and the object in the body, or the refusal. Reads the body only if the key is valid. */
export async function readKeyedBody({ idempotencyKeys, readBody }: KeyedRequest) {
  const [idempotencyKey, ...more] = idempotencyKeys;
  if (more.length > 0 || !isIdempotencyKey(idempotencyKey)) {
    return { kind: 'missingIdempotencyKey' } as const;
  }
  const body = await readBody();
  if (body.kind !== 'read') return body;
  const json = parseJsonObject(body.bytes);
  return json.kind === 'object' ? ({ kind: 'keyed', idempotencyKey, value: json.value } as const) : json;
}

/** Returns true for printable ASCII within the length limit (reference §5.6, §5.5). */
function isIdempotencyKey(key: string | undefined): key is string {
  return key !== undefined && key.length <= bounds.idempotencyKeyLength && /^[ -~]+$/.test(key);
}
