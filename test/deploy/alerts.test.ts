/** Runs the rules of deploy/alerts.yaml with `promtool test rules`, and checks which alerts fire in which minutes. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { dump } from 'js-yaml';
import { describe, expect, test } from 'vitest';

const rules = resolve(import.meta.dirname, '../../deploy/alerts.yaml');
const isThere = spawnSync('which', ['promtool']).status === 0;
if (!isThere) {
  if (process.env.TEST_SERVICES === 'required') throw new Error('promtool is not there.');
  console.warn('Skipped: promtool is not there (Debian: prometheus), so no alert is tried.');
}

/** Prometheus scrapes once a minute. The upstream is unavailable from the second hour to the fifth. */
const MINUTES = 420;
const OUTAGE = { from: 120, until: 300 };
const minutes = Array.from({ length: MINUTES }, (_, minute) => minute);
const isOut = (minute: number) => minute >= OUTAGE.from && minute < OUTAGE.until;

type PerMinute = (minute: number) => number;
const never: PerMinute = () => 0;
/** Returns a series with one event per `count` minutes, in their middle. */
const oneIn = (count: number): PerMinute => {
  return (minute) => (minute % count === Math.floor(count / 2) ? 1 : 0);
};

type Series = { series: string; values: string };

/** Returns a counter that exists from minute 0, with the value 0. */
function counter(series: string, added: PerMinute): Series {
  let value = 0;
  const values = minutes.map((minute) => {
    if (minute > 0) value += added(minute);
    return value;
  });
  return { series, values: values.join(' ') };
}

/** Returns the counters of first attempts. */
function attempts(confirmed: PerMinute, failed: PerMinute, outcome = 'unconfirmed'): Series[] {
  const added: Record<string, PerMinute> = {
    confirmed,
    rejected: never,
    rateLimited: never,
    unconfirmed: never,
    [outcome]: failed,
  };
  return Object.entries(added).map(([name, perMinute]) =>
    counter(`service_submission_attempts_total{outcome="${name}", by="first"}`, perMinute),
  );
}

function executions(submitted: PerMinute, failed: PerMinute): Series[] {
  const of = (status: string) => `service_executions_total{action="contact", status="${status}"}`;
  return [counter(of('submitted'), submitted), counter(of('failed'), failed)];
}

/** Returns counters with an outage: all submissions fail during it, and succeed before and after. */
function outage(series: typeof attempts | typeof executions, submissions: PerMinute): Series[] {
  return series(
    (minute) => (isOut(minute) ? 0 : submissions(minute)),
    (minute) => (isOut(minute) ? submissions(minute) : 0),
  );
}

/** Returns the minutes in which each alert fires. */
function firing(input_series: Series[]): Record<string, number[]> {
  const folder = mkdtempSync(join(tmpdir(), 'alerts-'));
  // No alert is expected in any minute, so promtool reports each one that fires.
  const promql_expr_test = minutes.map((minute) => ({
    expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
    eval_time: `${minute}m`,
    exp_samples: [],
  }));
  const tests = [{ interval: '1m', input_series, promql_expr_test }];
  const path = join(folder, 'test.yaml');
  writeFileSync(path, dump({ rule_files: [rules], evaluation_interval: '1m', tests }));
  const { stdout, stderr } = spawnSync('promtool', ['test', 'rules', path], { encoding: 'utf8' });
  const said = stdout + stderr;
  rmSync(folder, { recursive: true });
  const fired: Record<string, number[]> = {};
  for (const [, hours = 0, rest = 0, got = ''] of said.matchAll(
    /time: (?:(\d+)h)?(?:(\d+)m)?\d*s?,\s+exp: nil\s+got: ([^\n]*)/g,
  )) {
    for (const [, alert = ''] of got.matchAll(/alertname="(\w+)"/g)) {
      fired[alert] = [...(fired[alert] ?? []), Number(hours) * 60 + Number(rest)];
    }
  }
  // Without a success and without an alert, the rules or the input are invalid.
  if (!said.includes('SUCCESS') && Object.keys(fired).length === 0) throw new Error(said);
  return fired;
}

describe.runIf(isThere)('alerts during an outage of the upstream', () => {
  test.each([60, 20, 10, 5, 1])(
    'fire from the first until an hour after the last failure, at one submission every %i minutes',
    (count) => {
      const fired = firing(outage(attempts, oneIn(count)));
      const told = fired.SubmissionNotConfirmed ?? [];
      const firstLost = minutes.find((minute) => isOut(minute) && oneIn(count)(minute) > 0);
      const lastLost = minutes.findLast((minute) => isOut(minute) && oneIn(count)(minute) > 0);
      expect(told[0]).toBe(firstLost);
      // The alert fires without a gap, and ends an hour after the last failure.
      expect(told).toHaveLength((told.at(-1) ?? 0) - (told[0] ?? 0) + 1);
      expect(told.at(-1)).toBe((lastLost ?? 0) + 59);
      expect(['SubmissionNotConfirmed', 'UpstreamFailing']).toEqual(expect.arrayContaining(Object.keys(fired)));
    },
  );

  test('start within ten minutes of the outage and end within ten minutes after it, at 20 submissions a minute', () => {
    const { UpstreamFailing: told = [] } = firing(outage(attempts, () => 20));
    expect(told[0]).toBeLessThan(OUTAGE.from + 10);
    expect(told.at(-1)).toBeLessThan(OUTAGE.until + 10);
  });

  test.each(['rejected', 'rateLimited', 'unconfirmed'])('fire if one submission is %s', (outcome) => {
    const one = attempts(never, (minute) => (minute === 200 ? 1 : 0), outcome);
    expect(firing(one)).toMatchObject({ SubmissionNotConfirmed: { 0: 200 } });
  });

  test('fire if the first submission after a start fails', () => {
    const first = attempts(never, (minute) => (minute === 1 ? 1 : 0));
    expect(firing(first)).toMatchObject({ SubmissionNotConfirmed: { 0: 1 } });
  });

  test('fire if one execution fails per hour', () => {
    const { ExecutionsFailing: told = [], ...others } = firing(outage(executions, oneIn(60)));
    expect([told[0], told.at(-1)]).toEqual([150, 270 + 59]);
    expect(others).toEqual({});
  });
});

describe.runIf(isThere)('alerts about undelivered submissions', () => {
  const gauge = (series: string, value: PerMinute): Series => ({
    series,
    values: minutes.map(value).join(' '),
  });

  test('fire once the oldest submission has waited for an hour, until it is delivered', () => {
    const waits = gauge('service_submission_oldest_waiting_seconds', (minute) =>
      isOut(minute) ? (minute - OUTAGE.from) * 60 : 0,
    );
    const { SubmissionsWaiting: told = [], ...others } = firing([waits]);
    expect([told[0], told.at(-1)]).toEqual([OUTAGE.from + 61, OUTAGE.until - 1]);
    expect(others).toEqual({});
  });

  test('fire while a submission will not be retried automatically', () => {
    const left = gauge('service_submissions{status="undelivered"}', (minute) => (isOut(minute) ? 1 : 0));
    const { SubmissionsUndelivered: told = [], ...others } = firing([left]);
    expect([told[0], told.at(-1)]).toEqual([OUTAGE.from, OUTAGE.until - 1]);
    expect(others).toEqual({});
  });

  test('do not fire for a failed redelivery', () => {
    const again = counter('service_submission_attempts_total{outcome="unconfirmed", by="redelivery"}', oneIn(5));
    expect(firing([...attempts(oneIn(5), never), again])).toEqual({});
  });
});

describe.runIf(isThere)('alerts on a healthy service', () => {
  test.each([1 / 20, 1, 60])('do not fire at one submission every %d minutes', (count) => {
    const submissions = count < 1 ? () => 1 / count : oneIn(count);
    const series = [...attempts(submissions, never), ...executions(submissions, never)];
    expect(firing(series)).toEqual({});
  });

  test('do not fire if one of 1,200 submissions an hour is unconfirmed', () => {
    const one = attempts(
      () => 20,
      (minute) => (minute === 200 ? 1 : 0),
    );
    expect(firing(one)).toEqual({});
  });

  test('do not fire if a restart sets the counters to 0', () => {
    const [first, ...rest] = attempts(oneIn(5), never);
    const values = minutes.map((minute) => Math.floor((minute < 200 ? minute : minute - 200) / 5));
    const restarted = { series: first?.series ?? '', values: values.join(' ') };
    expect(firing([restarted, ...rest])).toEqual({});
  });
});

test.runIf(isThere)('UnexpectedErrors fires at the first 500 of a route, although its counter starts at 1', () => {
  const series = 'http_server_request_duration_seconds_count{http_route="/api/leads", http_response_status_code="500"}';
  const values = minutes.map((minute) => (minute < 200 ? '_' : '1'));
  const { UnexpectedErrors: told = [] } = firing([{ series, values: values.join(' ') }]);
  expect([told[0], told.at(-1)]).toEqual([200, 204]);
});
