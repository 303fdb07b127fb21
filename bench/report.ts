/** Formats the measurements as Markdown: the ratios, and the figures from which they are computed. */
import type { Comparison } from './compare.ts';
import type { Start } from './start.ts';

const RATIOS = ['path', 'against', 'goal', 'ratio', 'without duties', 'ratio, wrk', 'without duties, wrk'];

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

/** Returns two tables with one line for each path. */
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

/** Returns the costs of a start, one per line. */
export function linesOf({ bareMs, sources, bundle, startedMb, idleMb }: Start): string {
  const bundled =
    bundle === undefined
      ? 'start from the bundle: not measured (npm run build makes it)'
      : `start from the bundle: ${bundle.ms.toFixed(0)} ms: ${bundle.ratio.toFixed(2)} (goal ≤ 2.8), its very first: ${bundle.first.toFixed(2)} (goal ≤ 4)`;
  return [
    `start from the sources: ${sources.ms.toFixed(0)} ms, a bare server ${bareMs.toFixed(0)} ms: ${sources.ratio.toFixed(2)} (goal ≤ 5)`,
    bundled,
    `memory after the start: ${startedMb.toFixed(0)} MB (goal ≤ 100), idle: ${idleMb.toFixed(0)} MB (goal ≤ 100)`,
  ].join('\n');
}

function tableOf(head: readonly string[], rows: readonly string[][]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

function shown(value: number | undefined): string {
  return value?.toFixed(2) ?? '';
}
