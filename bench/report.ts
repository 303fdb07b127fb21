/** What was measured, as Markdown: the ratios, and the figures behind them. */
import type { Comparison } from './compare.ts';
import type { Start } from './start.ts';

const RATIOS = [
  'path',
  'against',
  'goal',
  'ratio',
  'without duties',
  'ratio, wrk',
  'without duties, wrk',
];

const FIGURES = [
  'path',
  'against',
  'requests/s',
  'theirs',
  'p50 ms',
  'p99 ms',
  'their p99',
  'p99 at half',
  'theirs',
  'core used',
  'theirs',
  'MB loaded',
];

/** Takes what was measured; returns two tables, with a line for each path. */
export function tablesOf(comparisons: readonly Comparison[]): string {
  const ratios = comparisons.map(({ path, against, ratios, byWrk }) => [
    path.name,
    against,
    path.goal === undefined || against !== path.against ? '' : `≥ ${path.goal}`,
    shown(ratios.other),
    shown(ratios.bare),
    shown(byWrk?.other),
    shown(byWrk?.bare),
  ]);
  const figures = comparisons.map(({ path, against, service, other, loadedMb }) => [
    path.name,
    against,
    service.perSecond.toFixed(0),
    other.perSecond.toFixed(0),
    shown(service.p50),
    shown(service.p99),
    shown(other.p99),
    shown(service.pacedP99),
    shown(other.pacedP99),
    `${(service.busy * 100).toFixed(0)} %`,
    `${(other.busy * 100).toFixed(0)} %`,
    loadedMb.toFixed(0),
  ]);
  return `${tableOf(RATIOS, ratios)}\n\n${tableOf(FIGURES, figures)}`;
}

/** What a start costs, a line each. */
export function linesOf({ ratio, serviceMs, bareMs, startedMb, idleMb }: Start): string {
  return [
    `cold start: ${serviceMs.toFixed(0)} ms, a bare server ${bareMs.toFixed(0)} ms: ${ratio.toFixed(2)} (goal ≤ 2.8)`,
    `memory after the start: ${startedMb.toFixed(0)} MB (goal ≤ 100), idle: ${idleMb.toFixed(0)} MB (goal ≤ 85)`,
  ].join('\n');
}

function tableOf(head: readonly string[], rows: readonly string[][]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

function shown(value: number | undefined): string {
  return value?.toFixed(2) ?? '';
}
