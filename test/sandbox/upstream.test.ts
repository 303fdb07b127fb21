import { describe, expect, test } from 'vitest';
import { openSandboxUpstream, SANDBOX_TIMEOUT_MS } from '../../src/sandbox/upstream.ts';
import { testClock } from '../support/clock.ts';
import { eventOf } from '../upstream/event.ts';

describe('upstream of sandbox clients', () => {
  /** Delivers a lead from this address. Returns the outcome and the time that the delivery slept. */
  async function deliver(email: string | undefined, mayStart = true) {
    let sleptMs = 0;
    const sleep = async (ms: number) => {
      sleptMs += ms;
    };
    const upstream = openSandboxUpstream({ clock: { ...testClock(), sleep } });
    const sent = eventOf('e-1', 'lead.created');
    const body = JSON.stringify({ data: { fields: email === undefined ? {} : { email } } });
    return { outcome: await upstream.deliver({ ...sent, body }, { mayStart: () => mayStart }), sleptMs };
  }

  test.each([
    ['ada@example.com', { kind: 'confirmed', known: false }],
    [undefined, { kind: 'confirmed', known: false }],
    ['ada+rejected@example.com', { kind: 'rejected', status: 422 }],
    ['ada+limited@example.com', { kind: 'rateLimited', retryAfterSeconds: 30, status: 429 }],
    ['ada+unconfirmed@example.com', { kind: 'unconfirmed', reason: 'The address of this test asks for it.' }],
  ])('ends a lead from %s at once', async (email, outcome) => {
    expect(await deliver(email)).toEqual({ outcome, sleptMs: 0 });
  });

  test('confirms a lead with the tag +slow after 5 s, before the time limit of an execution', async () => {
    expect(await deliver('ada+slow@example.com')).toEqual({
      outcome: { kind: 'confirmed', known: false },
      sleptMs: 5_000,
    });
    expect(SANDBOX_TIMEOUT_MS).toBeGreaterThan(5_000);
  });

  test('sends nothing if the lease left no time, whatever the tag', async () => {
    const { outcome, sleptMs } = await deliver('ada+slow@example.com', false);
    const reason = 'The lease left no time to send.';
    expect([outcome, sleptMs]).toEqual([{ kind: 'unconfirmed', reason, unsent: true }, 0]);
  });

  test('is not the embedded inbox, which stores what it gets', () => {
    expect(openSandboxUpstream({ clock: testClock() }).embedded).toBe(false);
  });
});
