/** What the tests of executions claim, keep and are told. */
import { randomUUID } from 'node:crypto';
import { systemClock } from '../../src/platform/clock.ts';
import type { Attempted } from '../../src/submissions/attempts.ts';
import type { Outcome } from '../../src/upstream/upstream.ts';

export const confirmed: Outcome = { kind: 'confirmed', known: false };
export const rejected: Outcome = { kind: 'rejected', status: 422 };

/** Of an instance with an upstream; its storage is the test's. */
export const parts = {
  clock: systemClock,
  upstreamTimeoutMs: 10_000,
  embedded: false,
  keepsDelivered: true,
  expirePending: async () => 0,
};

/** What is kept with a claim. */
export const keep = () => ({
  form: 'contact',
  email: 'ada@example.com',
  search_text: null,
  event: '{"data":{}}',
});

/** The digest of a mailbox that has reported nobody. */
export const unreported = '';

/** An upstream that ends its attempt so. */
export const told = (outcome: Outcome) => async (): Promise<Attempted> => ({
  outcome,
  attempt: { at: '2026-09-01T12:00:00.000Z', ms: 5, outcome: outcome.kind, by: 'first' },
});

export type Request = ReturnType<typeof plain>;

/** A request that nobody has made before, but for what is given. */
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
