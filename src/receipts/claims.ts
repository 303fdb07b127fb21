/** What a signed receipt says (beyond §5): none of the fields, but a digest of each that is still kept. */
import { receiptOf } from '../actions/receipt.ts';
import { API_VERSION } from '../discovery/facts.ts';
import type { ConfirmedVia, ExecutionRow } from '../storage/schema.ts';

export type ReceiptClaims = {
  /** `BASE_URL` when it was signed. */
  iss: string;
  /** When, in seconds since 1970. */
  iat: number;
  /** The `action_id`. */
  jti: string;
  action: string;
  status: 'submitted' | 'failed';
  created_at: string;
  consent_recorded_at: string;
  confirmation_text: string;
  confirmed_via: ConfirmedVia;
  client: string;
  /** Who was named to the person; null of what an older version executed. */
  destination: string | null;
  /** SHA-256 of the preview token, base64url. */
  preview_digest: string;
  api_version: string;
  _sd_alg: 'sha-256';
  /** Sorted, so that their order says nothing. */
  _sd: string[];
};

/** Takes an execution that has ended, who signs when, and the digests of its fields. */
export function claimsOf(
  row: ExecutionRow,
  { issuer, signedAt, digests }: { issuer: string; signedAt: Date; digests: readonly string[] },
): ReceiptClaims {
  const { action_id, action, status, created_at, consent_recorded_at, confirmation_text } =
    receiptOf(row);
  return {
    iss: issuer,
    iat: Math.floor(signedAt.getTime() / 1000),
    jti: action_id,
    action,
    status,
    created_at,
    consent_recorded_at,
    confirmation_text,
    confirmed_via: row.confirmed_via,
    client: row.client,
    destination: row.destination,
    preview_digest: Buffer.from(row.preview_digest, 'hex').toString('base64url'),
    api_version: API_VERSION,
    _sd_alg: 'sha-256',
    _sd: [...digests].sort(),
  };
}
