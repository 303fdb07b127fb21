/** The one table, as Markdown. */
import type { Comparison } from './compare.ts';
import type { Start } from './start.ts';

const HEAD = [
  'path',
  'against',
  'ratio',
  'goal',
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

/** Takes what was measured; returns the table, a line for each path. */
export function tableOf(comparisons: readonly Comparison[], start: Start): string {
  const rows = comparisons.map(({ path, ratio, service, other, loadedMb }) => [
    path.name,
    path.against,
    ratio.toFixed(2),
    path.goal === undefined ? '' : `≥ ${path.goal}`,
    service.perSecond.toFixed(0),
    other.perSecond.toFixed(0),
    service.p50.toFixed(2),
    service.p99.toFixed(2),
    other.p99.toFixed(2),
    service.pacedP99?.toFixed(2) ?? '',
    other.pacedP99?.toFixed(2) ?? '',
    `${(service.busy * 100).toFixed(0)} %`,
    `${(other.busy * 100).toFixed(0)} %`,
    loadedMb.toFixed(0),
  ]);
  const { ratio, serviceMs, bareMs, startedMb, idleMb } = start;
  return [
    ...[HEAD, HEAD.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`),
    '',
    `cold start: ${serviceMs.toFixed(0)} ms, a bare server ${bareMs.toFixed(0)} ms: ${ratio.toFixed(2)} (goal ≤ 3)`,
    `memory after the start: ${startedMb.toFixed(0)} MB, idle: ${idleMb.toFixed(0)} MB (goal ≤ 90)`,
    '',
  ].join('\n');
}
