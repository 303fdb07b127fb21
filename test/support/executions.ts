/** What the tests of executions claim, keep and are told. */
import { randomUUID } from 'node:crypto';
import { systemClock } from '../../src/clock.ts';
import type { Attempted } from '../../src/submissions/submit.ts';
import type { Outcome } from '../../src/upstream/upstream.ts';

export const confirmed: Outcome = { kind: 'confirmed', known: false };
export const rejected: Outcome = { kind: 'rejected', status: 422 };

/** Of an instance with an upstream; its storage is the test's. */
export const parts = {
  clock: systemClock,
  upstreamTimeoutMs: 10_000,
  embedded: false,
  keepsDelivered: true,
};

/** What is kept with a claim. */
export const keep = () => ({
  form: 'contact',
  email: 'ada@example.com',
  telephone: null,
  event: '{"data":{}}',
});

/** The digests of a mailbox that has reported nobody. */
export const unreported = () => [];

/** An upstream that ends its attempt so. */
export const told = (outcome: Outcome) => async (): Promise<Attempted> => ({
  outcome,
  attempt: { at: '2026-09-01T12:00:00.000Z', ms: 5, outcome: outcome.kind, by: 'first' },
});

export type Request = ReturnType<typeof plain>;

/** A request that nobody has made before, but for what is given. */
export const fresh = (over: Partial<Request> = {}): Request => ({ ...plain(), ...over });

const plain = () => ({
  actionId: randomUUID(),
  action: 'contact',
  client: 'acme',
  idempotencyKey: randomUUID(),
  previewDigest: randomUUID(),
  confirmationText: 'I confirm',
  confirmedVia: 'agent' as 'agent' | 'client_form',
  destination: 'Vetted Painters',
});
