/**
 * Every way a request can be refused, as plain data: a kind, and what that kind carries. The chains return
 * these; `failures/catalogue.ts` says what each is (spec §7), `failures/render.ts` how it is answered.
 */
import type { Fault } from '../forms/validate.ts';

/** A body that can't be taken, whatever the route (contract §4). */
export type BodyRefusal =
  | { kind: 'bodyTooLarge' }
  | { kind: 'bodyAborted' }
  /** Its client had too many large ones refused. */
  | { kind: 'rateLimited'; retryAfterSeconds: number }
  | { kind: 'contentEncoding' }
  | { kind: 'charset' }
  | { kind: 'invalidUtf8' }
  | { kind: 'invalidJson' };

/** Both calls of an agent (spec §7.1), in the order in which contract §4 looks. */
type AgentRefusal =
  | { kind: 'unknownAction' }
  | { kind: 'unauthenticated'; credentialSent: boolean }
  | { kind: 'insufficientScope'; scope: string }
  | { kind: 'actionsNotConfigured' }
  | BodyRefusal;

/** Spec §4.3. */
export type PreviewRefusal = AgentRefusal | { kind: 'invalidFields'; faults: Fault[] };

/** Spec §4.4, in the order of contract §4, "Order inside execute". What has failed has a receipt (spec §2.3). */
export type ExecuteRefusal<Receipt = object> =
  | AgentRefusal
  | { kind: 'missingIdempotencyKey' }
  | { kind: 'previewIdNotText' }
  | { kind: 'notConfirmed' }
  | { kind: 'idempotencyConflict' }
  | { kind: 'inProgress' }
  | { kind: 'previewAlreadyUsed' }
  | { kind: 'invalidPreview' }
  | { kind: 'expiredPreview' }
  | { kind: 'otherAction' }
  | { kind: 'upstreamRejected'; status: number; receipt: Receipt }
  | { kind: 'upstreamRateLimited'; retryAfterSeconds: number; receipt: Receipt }
  | { kind: 'upstreamUnconfirmed'; receipt: Receipt; replay: boolean };

/** Spec §7.2, in the order in which contract §4 looks. `missing` names the fields that did not come. */
export type FormRefusal =
  | { kind: 'submissionsNotConfigured' }
  | { kind: 'contentType' }
  | { kind: 'malformedForm' }
  | BodyRefusal
  | { kind: 'notText'; missing: string[] }
  | { kind: 'fileUpload'; missing: string[] }
  | { kind: 'tooManyFields'; missing: string[] }
  | { kind: 'nameTooLong'; missing: string[] }
  /** Of an unknown field there are no faults: it is in no declaration. */
  | { kind: 'valueTooLong'; faults?: Fault[]; missing: string[] }
  | { kind: 'invalidForm'; faults: Fault[]; missing: string[] }
  | { kind: 'missingConsent'; missing: string[] }
  | { kind: 'unconfirmed' }
  /** The upstream was not reached: not one byte has left. */
  | { kind: 'unsent' };

/** What no chain returns: the server refuses before a route is found, or after a chain has thrown. */
export type ServerRefusal =
  | { kind: 'storeUnavailable' }
  | { kind: 'notFound' }
  | { kind: 'methodNotAllowed' }
  | { kind: 'badRequest' }
  | { kind: 'requestTimeout' }
  | { kind: 'headersTooLarge' }
  | { kind: 'internal' }
  | { kind: 'shuttingDown' };

export type Refusal =
  | PreviewRefusal
  | ExecuteRefusal
  | FormRefusal
  | ServerRefusal
  /** The content endpoint (spec §4.2). */
  | { kind: 'unknownResource' };
