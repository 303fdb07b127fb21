/** Example requests, submissions and outcomes for the tests of executions. */
import { randomUUID } from 'node:crypto';
import { systemClock } from '../../src/platform/clock.ts';
import type { ExecutionRow } from '../../src/storage/schema.ts';
import type { Attempted } from '../../src/submissions/attempts.ts';
import type { Outcome } from '../../src/upstream/upstream.ts';

export const confirmed: Outcome = { kind: 'confirmed', known: false };
export const rejected: Outcome = { kind: 'rejected', status: 422 };

/** Components of an instance with an upstream, except the storage, which the test adds. */
export const parts = {
  clock: systemClock,
  upstreamTimeoutMs: 10_000,
  embedded: false,
  keepsDelivered: true,
  expirePending: async () => 0,
};

/** Returns the submission that is stored with a claim. */
export const keep = () => ({
  form: 'contact',
  email: 'ada@example.com',
  search_text: null,
  event: '{"data":{}}',
});

/** Digest of a mailbox that has reported no client. */
export const unreported = '';

/** Returns a send function whose attempt has this outcome. */
export const told = (outcome: Outcome) => async (): Promise<Attempted> => ({
  outcome,
  attempt: {
    at: '2026-09-01T12:00:00.000Z',
    ms: 5,
    outcome: outcome.kind,
    by: 'first',
    http_status: outcome.status ?? null,
  },
});

export type Request = ReturnType<typeof plain>;

/** Returns a request with a new key and preview, except for the given values. */
export const fresh = (over: Partial<Request> = {}): Request => ({ ...plain(), ...over });

const plain = () => ({
  action_id: randomUUID(),
  action: 'contact',
  client: 'acme',
  idempotency_key: randomUUID(),
  preview_digest: randomUUID(),
  confirmation_text: 'I confirm',
  confirmed_via: 'agent' as 'agent' | 'client_form',
  destination: 'Vetted Painters',
});

/** Returns the row of a submitted execution of `acme`, except for the given values. */
export function executionRow(given: Partial<ExecutionRow> = {}): ExecutionRow {
  return {
    action_id: randomUUID(),
    action: 'contact',
    client: 'acme',
    idempotency_key: randomUUID(),
    preview_digest: randomUUID(),
    status: 'submitted',
    created_at: '2026-09-01T12:00:00.000Z',
    confirmation_text: 'I confirm',
    confirmed_via: 'agent',
    destination: 'Vetted Painters',
    sandbox: 0,
    signed_receipt: null,
    receipt_kid: null,
    lease_started_ms: 0,
    lease_ms: 0,
    settled_at: '2026-09-01T12:00:01.000Z',
    ...given,
  };
}
