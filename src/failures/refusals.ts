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
  /** Whoever executes it, and under whatever key (beyond §4). */
  | { kind: 'confirmationDeclined' }
  /** The person was asked on their own page and has not answered (beyond §4). */
  | { kind: 'confirmationPending'; retryAfterSeconds: number }
  /** The action takes no less than the person's own press (beyond §4). */
  | { kind: 'humanConfirmationRequired' }
  /** The person has said that they did not ask this client (beyond §4). */
  | { kind: 'clientReported' }
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
  /** It could not be confirmed, but it is kept and will be passed on. A subscription has no reference. */
  | { kind: 'kept'; reference?: string }
  /** The same, but nothing more happens by itself: the operator has it. */
  | { kind: 'left'; reference?: string }
  /** The store is away, and a subscription is not forwarded without a row (beyond §6). */
  | { kind: 'subscriptionNotKept' }
  /** Nobody could keep it, or confirm it. */
  | { kind: 'unconfirmed' }
  /** Nobody could keep it, and the upstream was not reached: not one byte has left. */
  | { kind: 'unsent' };

/** What asking, reading and cancelling a confirmation says beside execute (beyond §4). */
export type ConfirmationRefusal =
  | ExecuteRefusal
  | { kind: 'viaNotValid' }
  | { kind: 'codesNotConfigured' }
  | { kind: 'tooManyPending'; retryAfterSeconds: number }
  | { kind: 'unknownConfirmation' };

/** What a person is told on their own page (beyond §4). */
export type PressRefusal =
  | { kind: 'pressTooOften'; retryAfterSeconds: number }
  | { kind: 'pressFromElsewhere' }
  | { kind: 'pressByAgent' }
  | { kind: 'unknownLink' }
  | { kind: 'unknownButton' }
  | { kind: 'pageTooOld' }
  | { kind: 'clientNotAllowed' }
  | { kind: 'destinationChanged' }
  | { kind: 'sendingNotConfigured' }
  | { kind: 'tooManyCodes' | 'noFurtherCode' | 'noCode'; retryAfterSeconds: number }
  | { kind: 'pressUnknown' };

/** What an operator is told in the console (beyond §7). */
export type ConsoleRefusal =
  | { kind: 'signInTooOften'; retryAfterSeconds: number }
  | { kind: 'operatorPressFromElsewhere' }
  | { kind: 'operatorPressByAgent' }
  | { kind: 'signInLinkNotGood' }
  | { kind: 'operatorButton' }
  | { kind: 'signInNotRecent' }
  | { kind: 'unknownRow' }
  | { kind: 'rowUnderWay' }
  | { kind: 'consoleUnavailable' };
/** What a subscriber is told where a link of theirs does nothing (beyond §6). */
export type NewsletterRefusal =
  | { kind: 'newsletterTooOften'; retryAfterSeconds: number }
  | { kind: 'unknownSubscription' }
  | { kind: 'newsletterUnknown'; retryAfterSeconds: number };

/** What a tool or its endpoint says beside the refusals of the two chains (beyond §3). */
type McpRefusal = { kind: 'foreignOrigin' } | { kind: 'confirmationUnanswered' };

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
  /** Beyond §5: of another client, of nobody, or of what has not ended. */
  | { kind: 'unknownReceipt' }
  | PreviewRefusal
  | ExecuteRefusal
  | FormRefusal
  | ConfirmationRefusal
  | PressRefusal
  | ConsoleRefusal
  | NewsletterRefusal
  | McpRefusal
  | ServerRefusal
  /** The content endpoint (spec §4.2). */
  | { kind: 'unknownResource' };
