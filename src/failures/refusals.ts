/**
 * All refusals as plain data: a kind and its data. Handlers return refusals, `catalogue.ts` has the status and sentence
 * of each kind (reference §18), and `render.ts` turns refusals into HTTP.
 */
import type { Fault } from '../forms/validate.ts';

/** A body that no route accepts (reference §3.2). */
export type BodyRefusal =
  | { kind: 'bodyTooLarge' | 'bodyAborted' | 'contentEncoding' | 'charset' | 'invalidUtf8' }
  | { kind: 'invalidJson' | 'jsonTooDeep' }
  /** The client sent too many large bodies that were refused. */
  | { kind: 'rateLimited'; retryAfterSeconds: number };

/** Refusals of preview and execute, in the order of the checks (reference §5.5). */
type AgentRefusal =
  | { kind: 'unknownAction' }
  | { kind: 'unauthenticated'; credentialSent: boolean }
  | { kind: 'insufficientScope'; scope: string }
  | { kind: 'actionsNotConfigured' }
  | BodyRefusal;

/** Refusals of preview (reference §5.3). */
export type PreviewRefusal = AgentRefusal | { kind: 'invalidFields'; faults: Fault[] };

/** Refusals of execute, in the order of reference §5.7. A failed execution has a receipt (reference §5.9). */
export type ExecuteRefusal<Receipt = object> =
  | AgentRefusal
  | { kind: 'missingIdempotencyKey' | 'previewIdNotText' | 'notConfirmed' }
  | { kind: 'idempotencyConflict' | 'inProgress' | 'previewAlreadyUsed' }
  | { kind: 'invalidPreview' | 'expiredPreview' | 'otherAction' }
  /** The person declined this preview, for every client and key (reference §6.3). */
  | { kind: 'confirmationDeclined' }
  /** The person has not answered on the confirmation page yet (reference §6.3). */
  | { kind: 'confirmationPending'; retryAfterSeconds: number }
  /** The action requires that the person confirms on the page (reference §6.4). */
  | { kind: 'humanConfirmationRequired' }
  /** The owner of the mailbox reported this client (reference §6.14). */
  | { kind: 'clientReported' }
  | { kind: 'upstreamRejected'; status: number; receipt: Receipt }
  | { kind: 'upstreamRateLimited'; retryAfterSeconds: number; receipt: Receipt }
  | { kind: 'upstreamUnconfirmed'; receipt: Receipt; replay: boolean };

/** Refusals of the form routes, in the order of the checks (reference §4.4). `missing` has missing required fields. */
export type FormRefusal =
  | { kind: 'submissionsNotConfigured' | 'contentType' | 'malformedForm' }
  | BodyRefusal
  | { kind: 'notText' | 'fileUpload' | 'tooManyFields' | 'nameTooLong' | 'missingConsent'; missing: string[] }
  /** `faults` is undefined for an unknown field, because no form declares such a field. */
  | { kind: 'valueTooLong'; faults?: Fault[]; missing: string[] }
  | { kind: 'invalidForm'; faults: Fault[]; missing: string[] }
  /**
   * The submission is stored. The service retries its delivery (`kept`), or only the operator can retry (`left`). A
   * subscription has no reference.
   */
  | { kind: 'kept'; reference?: string }
  | { kind: 'left'; reference?: string }
  /** The store is unavailable. A subscription is never forwarded without a row (reference §9.2). */
  | { kind: 'subscriptionNotKept' }
  /** The submission is not stored. The upstream may have it (`unconfirmed`), or no byte was sent (`unsent`). */
  | { kind: 'unconfirmed' | 'unsent' };

/** Refusals when an agent requests, reads or cancels a confirmation (reference §6.5). */
export type ConfirmationRefusal =
  | ExecuteRefusal
  | { kind: 'viaNotValid' | 'codesNotConfigured' | 'unknownConfirmation' }
  | { kind: 'tooManyPending'; retryAfterSeconds: number };

/** Refusals on the confirmation page (reference §6.10). */
export type PressRefusal =
  | { kind: 'pressTooOften' | 'tooManyCodes' | 'noFurtherCode' | 'noCode'; retryAfterSeconds: number }
  | { kind: 'pressFromElsewhere' | 'pressByAgent' | 'unknownLink' | 'unknownButton' }
  | { kind: 'pageTooOld' | 'clientNotAllowed' | 'destinationChanged' }
  | { kind: 'sendingNotConfigured' | 'pressUnknown' };

/** Refusals in the operator console (reference §12.4). */
export type ConsoleRefusal =
  | { kind: 'signInTooOften' | 'linksTooOften'; retryAfterSeconds: number }
  | { kind: 'operatorPressFromElsewhere' | 'operatorPressByAgent' | 'operatorButton' }
  | {
      kind:
        | 'signInLinkNotGood'
        | 'sessionNotFresh'
        | 'noLeadSelected'
        | 'clientsNotEditable'
        | 'unknownRow'
        | 'rowUnderWay'
        | 'consoleUnavailable';
    };

/** Refusals behind a subscriber's links (reference §9.5). */
export type NewsletterRefusal =
  | { kind: 'newsletterTooOften' | 'newsletterUnknown'; retryAfterSeconds: number }
  | { kind: 'unknownSubscription' };

/** Refusals of `/oauth/token` and `/oauth/revoke`, and of the redirect to a host (reference §26.6). */
export type OauthRefusal =
  | { kind: 'oauthRequest' | 'oauthResponseType' | 'oauthScope' | 'oauthTarget' | 'oauthDenied' }
  | { kind: 'oauthGrant' | 'oauthGrantType' }
  /** `usedBasic` is true if the client authenticated with the scheme Basic. */
  | { kind: 'oauthClient'; usedBasic: boolean };

/** Refusals on the page on which a person connects a host (reference §26.4). */
export type ConnectRefusal =
  | { kind: 'connectTooOften' | 'tokenTooOften'; retryAfterSeconds: number }
  | { kind: 'connectFromElsewhere' | 'connectByAgent' | 'connectButton' }
  | UnknownConnection
  | { kind: 'wrongToken' | 'connectUnknown' };

/** The host may not connect, or may not get an answer at its address. The person stays on the page. */
export type UnknownConnection = { kind: 'unknownHost' | 'unknownReturn' };

/** Refusals of the server itself: before a route is found, or after a handler threw. */
export type ServerRefusal =
  | { kind: 'storeUnavailable' | 'internal' | 'shuttingDown' }
  | { kind: 'notFound' | 'methodNotAllowed' | 'badRequest' | 'requestTimeout' | 'headersTooLarge' };

/** Refusals about the person's answer in a host (reference §8.8, §8.12). */
export type HostRefusal = { kind: 'confirmationUnanswered' | 'appsNotDeclared' | 'decisionNotValid' };

export type Refusal =
  /** The execution belongs to another client, does not exist or has not ended (reference §7.1). */
  | { kind: 'unknownReceipt' }
  | PreviewRefusal
  | FormRefusal
  | ConfirmationRefusal
  | PressRefusal
  | ConsoleRefusal
  | NewsletterRefusal
  | OauthRefusal
  | ConnectRefusal
  /** Refusals that only the tools and their endpoint return (reference §8.9). */
  | HostRefusal
  | { kind: 'foreignOrigin' }
  | { kind: 'unknownForm' | 'fieldsNotObject' | 'addressTooLong' }
  | ServerRefusal
  /** Refusal of the content endpoint (reference §14.4). */
  | { kind: 'unknownResource' };
