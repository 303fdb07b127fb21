/**
 * Every way a request can be refused, as plain data. The chains return these;
 * `failures/catalogue.ts` says how each is answered (spec §7).
 */
import type { Fault } from '../forms/validate.ts';

/** A body that can't be taken, whatever the route (contract §4). */
export type BodyRefusal =
  | { kind: 'bodyTooLarge' }
  | { kind: 'bodyAborted' }
  | { kind: 'contentEncoding' }
  | { kind: 'charset' }
  | { kind: 'invalidUtf8' }
  | { kind: 'invalidJson' };

/** Spec §7.1, in the order in which contract §4 looks. */
export type AgentRefusal =
  | { kind: 'unknownAction' }
  | { kind: 'rateLimited'; retryAfterSeconds: number }
  | { kind: 'unauthenticated'; credentialSent: boolean }
  | { kind: 'insufficientScope'; scope: string }
  | { kind: 'actionsNotConfigured' }
  | BodyRefusal
  | { kind: 'invalidFields'; faults: Fault[] };

/** Spec §7.2, in the order in which contract §4 looks. */
export type FormRefusal =
  | { kind: 'submissionsNotConfigured' }
  | { kind: 'contentType' }
  | { kind: 'malformedForm' }
  | BodyRefusal
  | { kind: 'notText'; missing: string[] }
  | { kind: 'fileUpload'; missing: string[] }
  | { kind: 'tooManyFields'; missing: string[] }
  | { kind: 'nameTooLong'; missing: string[] }
  | { kind: 'valueTooLong'; missing: string[] }
  | { kind: 'invalidForm'; faults: Fault[]; missing: string[] }
  | { kind: 'missingConsent'; missing: string[] }
  | { kind: 'rateLimited'; retryAfterSeconds: number }
  | { kind: 'unconfirmed' };
