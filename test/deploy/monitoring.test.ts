import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { load } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { executeAction, previewAction, previewId, quote } from '../support/agent.ts';
import { post } from '../support/forms.ts';
import { freePort } from '../support/free-port.ts';
import { metricsText, scrapeMetrics } from '../support/metrics.ts';
import { type Service, startService, tokens } from '../support/service.ts';

const project = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(project, path), 'utf8');

type Rule = { alert: string; expr: string; annotations: { summary: string; runbook: string } };
const alerts = load(read('deploy/alerts.yaml')) as { groups: { rules: Rule[] }[] };
const rules = alerts.groups.flatMap((group) => group.rules);
type Panel = { title: string; targets: { expr: string }[] };
const panels: Panel[] = JSON.parse(read('deploy/dashboard.json')).panels;

const expressions: [string, string][] = [
  ...rules.map(({ alert, expr }): [string, string] => [alert, expr]),
  ...panels.flatMap(({ title, targets }) => targets.map(({ expr }): [string, string] => [title, expr])),
];

/** Labels that Prometheus adds. */
const FROM_PROMETHEUS = new Set(['job', 'instance']);
const WORDS = new Set(['by', 'without', 'offset', 'and', 'or', 'unless', 'on', 'ignoring']);

/** Returns the series in an expression, with the labels that it uses. */
function seriesIn(expr: string): { name: string; labels: string[] }[] {
  const plain = expr
    .replace(/"[^"]*"/g, '""')
    .replace(/\b(by|without) \([^)]*\)/g, '')
    .replace(/\[[^\]]*\]|offset \w+/g, '');
  // A name before a parenthesis is a function. The braces of a series are part of the match.
  return [...plain.matchAll(/\b([a-z_]\w*)\b(?!\s*\()(\{[^}]*\})?/g)]
    .map(([, name = '', labels = '']) => ({
      name,
      labels: [...labels.matchAll(/(\w+)[=!]/g)].map(([, label = '']) => label),
    }))
    .filter(({ name }) => !WORDS.has(name));
}

let service: Service;
let port: number;
beforeAll(async () => {
  port = await freePort();
  service = await startService({
    environment: { METRICS_PORT: String(port), REDIS_URL: 'redis://127.0.0.1:1' },
  });
  await executeAction(service, await previewId(service));
  const { body } = await previewAction(service, 'homeowner_quote', quote, { token: tokens.sandbox });
  await executeAction(service, body.preview_id, { token: tokens.sandbox });
  await post(service, '/api/subscribe', 'json', { email: 'ada@example.com', privacy: 'on' });
});
afterAll(() => service.close());

describe('alerts and dashboard', () => {
  test('contain rules and panels, and this test can parse their expressions', () => {
    expect(rules.length).toBeGreaterThan(5);
    expect(panels.length).toBeGreaterThan(5);
    expect(seriesIn('sum by (le) (rate(a_b{c="d", e=~"f"}[5m])) / g_h offset 1h > 0.1')).toEqual([
      { name: 'a_b', labels: ['c', 'e'] },
      { name: 'g_h', labels: [] },
    ]);
  });

  test.each(expressions)('read only existing series and labels: %s: %s', async (_name, expr) => {
    const series = await scrapeMetrics(port);
    const asked = seriesIn(expr);
    expect(asked.length).toBeGreaterThan(0);
    for (const { name, labels } of asked) {
      // Prometheus creates this series for every target.
      if (name === 'up') continue;
      expect([...series.keys()]).toContain(name);
      const known = [...(series.get(name) ?? []), ...FROM_PROMETHEUS];
      expect(known).toEqual(expect.arrayContaining(labels));
    }
  });

  test('each alert links to an existing heading of docs/operations.md', () => {
    const headings = [...read('docs/operations.md').matchAll(/^#+ (.*)$/gm)].map(([, text]) => text);
    for (const { annotations } of rules) {
      const [, heading] = /^docs\/operations\.md: (.*)$/.exec(annotations.runbook) ?? [];
      expect(headings).toContain(heading);
    }
  });
});

describe('GET /metrics', () => {
  const gauge = async (name: string) => {
    const text = await metricsText(port);
    return new RegExp(`^${name}(?:\\{[^}]*\\})? (.*)$`, 'm').exec(text)?.[1];
  };

  test('shows service_limits_insured as 1 while Redis is unavailable', async () => {
    expect(await gauge('service_limits_insured')).toBe('1');
  });

  test('shows service_store_up as 0 while the store is unavailable, and returns the other metrics', async () => {
    expect(await gauge('service_store_up')).toBe('1');
    expect(await gauge('service_outbox_messages')).toBe('1');
    const other = new DatabaseSync(join(service.folder, 'service.db'));
    other.exec('begin exclusive');
    const away = [await gauge('service_store_up'), await gauge('process_cpu_seconds_total')];
    other.exec('rollback');
    other.close();
    expect(away).toEqual(['0', expect.any(String)]);
    expect(await gauge('service_store_up')).toBe('1');
  });
});
