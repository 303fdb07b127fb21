/** What an execution claims, before it is claimed and after (spec §3). */
import type { ConfirmedVia } from '../storage/schema.ts';
import type { ExecutionSubmission } from '../submissions/execution-rows.ts';
import type { Outcome } from '../upstream/upstream.ts';
import type { Recorded } from './receipt.ts';

export type ClaimRequest = {
  actionId: string;
  action: string;
  client: string;
  idempotencyKey: string;
  previewDigest: string;
  confirmationText: string;
  confirmedVia: ConfirmedVia;
  /** Of the press of a confirmation, whose `actionId` other presses have as well. */
  pressId?: string;
  /** Who was named to the person: a signed receipt says it (beyond §5). */
  destination: string;
};

/** A claim that was won, and what it kept. The send may start while `mayStart()` says so. */
export type Claim = ClaimRequest & {
  createdAt: string;
  submission: ExecutionSubmission;
  mayStart(): boolean;
};

/** The row that claims it, or that asks for it, at a moment. */
export function rowOfRequest(request: ClaimRequest, createdAt: string) {
  return {
    action_id: request.actionId,
    action: request.action,
    client: request.client,
    idempotency_key: request.idempotencyKey,
    preview_digest: request.previewDigest,
    created_at: createdAt,
    confirmation_text: request.confirmationText,
    confirmed_via: request.confirmedVia,
    destination: request.destination,
  };
}

/** What stands once the claim was settled by that outcome. */
export function rowOf(claim: Claim, outcome: Outcome): Recorded {
  return {
    action_id: claim.actionId,
    action: claim.action,
    client: claim.client,
    status: outcome.kind === 'confirmed' ? 'submitted' : 'failed',
    created_at: claim.createdAt,
    confirmation_text: claim.confirmationText,
  };
}
