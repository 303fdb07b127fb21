/** Formats the result of a simulation as Markdown. */
import type { Failure, Sums } from './sums.ts';

export function describe(sums: Sums, failures: readonly Failure[], minutes: number): string {
  const perMinute = Math.round(sums.runs / minutes);
  return `
${sums.runs} runs in ${minutes.toFixed(1)} minutes (${perMinute} a minute), violations: ${failures.length}

${tableOf('fault', sums.faults)}

${tableOf('answer', sums.answers)}
`;
}

function tableOf(head: string, counts: ReadonlyMap<string, number>): string {
  const rows = [...counts].sort(([a], [b]) => a.localeCompare(b));
  return [`| ${head} | times |`, '|---|---:|', ...rows.map(([name, n]) => `| ${name} | ${n} |`)].join('\n');
}
