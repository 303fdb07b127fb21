import { isMainThread } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { outcomeOf } from '../../src/upstream/http.ts';

const statusesFrom = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);
const outcome = (status: number, event: 'lead.created' | 'subscriber.created' = 'lead.created') =>
  outcomeOf(event, status, undefined, new Date());

describe('outcomeOf, statuses (reference §10.3)', () => {
  const ownStanding = [401, 403, 404, 407, 408];

  test('returns confirmed for every 2xx, but neither for 199 nor for 300', () => {
    for (const status of statusesFrom(200, 299)) {
      expect(outcome(status)).toEqual({ kind: 'confirmed', known: false, status });
    }
    for (const status of [199, 300]) expect(outcome(status).kind).toBe('unconfirmed');
  });

  test('returns rejected for every 4xx except 401, 403, 404, 407, 408 and 429', () => {
    for (const status of statusesFrom(400, 499)) {
      if (status === 429) continue;
      const { kind } = outcome(status);
      expect([status, kind]).toEqual([status, ownStanding.includes(status) ? 'unconfirmed' : 'rejected']);
      if (kind === 'rejected') expect(outcome(status)).toEqual({ kind: 'rejected', status });
    }
  });

  test('returns unconfirmed for every 3xx and 5xx, with a reason that contains only the status', () => {
    for (const status of [...statusesFrom(300, 399), ...statusesFrom(500, 599)]) {
      const reason = `The upstream answered ${status}.`;
      expect(outcome(status)).toEqual({ kind: 'unconfirmed', reason, status });
    }
  });

  test.each([
    ['unconfirmed', []],
    ['confirmed', [302, 303]],
  ] as const)('of all redirects, UPSTREAM_REDIRECT=%s confirms only %j', (redirect, confirming) => {
    const confirmedOnes = statusesFrom(300, 399).filter(
      (status) => outcomeOf('lead.created', status, undefined, new Date(), redirect).kind === 'confirmed',
    );
    expect(confirmedOnes).toEqual(confirming);
  });

  test('returns confirmed as known for 409 to a subscriber only', () => {
    expect(outcome(409, 'subscriber.created')).toEqual({ kind: 'confirmed', known: true, status: 409 });
    expect(outcome(410, 'subscriber.created')).toEqual({ kind: 'rejected', status: 410 });
    expect(outcome(409)).toEqual({ kind: 'rejected', status: 409 });
  });
});

/**
 * West of Greenwich, a date that is read as local time is hours later. Mutation tests run in a worker
 * thread, which can't change its time zone, so they set it before (`test/mutation/modules.ts`).
 */
const zones = isMainThread ? ['UTC', 'America/New_York'] : ['America/New_York'];

describe.each(zones)('outcomeOf, Retry-After in the time zone %s (reference §10.3)', (zone) => {
  const ownZone = process.env.TZ;
  beforeEach(() => {
    process.env.TZ = zone;
    expect(new Date(2026, 0, 1).getTimezoneOffset()).toBe(zone === 'UTC' ? 0 : 300);
  });
  afterEach(() => {
    if (ownZone === undefined) delete process.env.TZ;
    else process.env.TZ = ownZone;
  });

  const waited = (retryAfter: string | undefined, now = '2026-09-01T12:00:00.000Z') =>
    outcomeOf('lead.created', 429, retryAfter, new Date(now));

  test.each([
    ['1', 1],
    ['120', 120],
    [' 120 ', 120],
    ['0', 1],
    ['86400', 86_400],
    ['86401', 86_400],
    ['999999999999999999999', 86_400],
    ['Tue, 01 Sep 2026 12:01:00 GMT', 60],
    ['Tuesday, 01-Sep-26 12:01:00 GMT', 60],
    ['Tue Sep  1 12:01:00 2026', 60],
    ['Thu Sep 10 12:01:00 2026', 86_400],
    ['Tue, 01 Sep 2026 11:59:00 GMT', 1],
    ['Tue, 01 Sep 2026 12:00:00 GMT', 1],
    ['Wed, 02 Sep 2026 12:00:00 GMT', 86_400],
    ['Wed, 02 Sep 2026 12:00:01 GMT', 86_400],
  ])('reads %j as %i seconds', (header, retryAfterSeconds) => {
    expect(waited(header)).toEqual({ kind: 'rateLimited', retryAfterSeconds, status: 429 });
  });

  test.each([
    ['Tue, 01 Sep 2026 12:01:00 GMT', 60],
    ['Tue Sep  1 12:01:00 2026', 60],
    ['Tue, 01 Sep 2026 12:00:01 GMT', 1],
  ])('rounds the time until %j up from half past a second', (header, retryAfterSeconds) => {
    const halfPast = '2026-09-01T12:00:00.500Z';
    expect(waited(header, halfPast)).toEqual({ kind: 'rateLimited', retryAfterSeconds, status: 429 });
  });

  test.each([
    undefined,
    '',
    'soon',
    'soon 2100',
    '-1',
    '+60',
    '1.5',
    '1e3',
    '60 seconds',
    'in 60',
    '12/31/2100',
    '2100-01-01T00:00:00Z',
    'Mon Jan 5 2100',
    'Mon Jan  5 12:00:00 2100 GMT',
    'x Mon Jan  5 12:00:00 2100',
    'Mon Jan  5 12:00:00 2100 x',
    'x Tue, 05 Jan 2100 12:00:00 GMT',
    'Tue, 05 Jan 2100 12:00:00 GMT+0100',
    'Tue, 05 Jan 2100 12:00:00 EST',
    'Tue, 5 Jan 2100 12:00:00 GMT',
    'Tue, 05 January 2100 12:00:00 GMT',
    'Tue, 41 Foo 2100 12:00:00 GMT',
  ])('reads the invalid %j as 1 second', (header) => {
    expect(waited(header)).toEqual({ kind: 'rateLimited', retryAfterSeconds: 1, status: 429 });
  });
});
