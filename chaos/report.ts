/** Reports a run: a table of faults, totals, and a trace for each violation. */
import type { Apart } from './checks.ts';
import type { Fault, Ledger, Violation } from './ledger.ts';

const TRACES = 5;

/** Returns the report of one scenario, as Markdown. */
export function describe(title: string, ledger: Ledger, apart: Apart): string {
  const lines = [`### ${title}`, '', '| fault | count | violations |', '|---|---:|---:|'];
  const byName = Map.groupBy(ledger.faults, ({ name }) => name);
  for (const name of [...byName.keys()].sort()) {
    const faults = byName.get(name) ?? [];
    const near = ledger.violations.filter((violation) => faults.some((each) => meet(each, violation)));
    lines.push(`| ${name} | ${faults.length} | ${near.length} |`);
  }
  const alone = ledger.violations.filter((each) => !ledger.faults.some((fault) => meet(fault, each)));
  lines.push(`| none near | | ${alone.length} |`, '', ...totals(ledger, apart));
  return lines.join('\n');
}

/** Returns true if a fault and a violation happened at the same time. */
function meet(fault: Fault, violation: Violation): boolean {
  return fault.from <= violation.to && fault.to >= violation.from - 1_000;
}

function totals(ledger: Ledger, apart: Apart): string[] {
  const keys = [...ledger.previews.values()].flatMap((preview) => preview.keys);
  const count = (final: string) => keys.filter((key) => key.final === final).length;
  const struck = (name: string) => ledger.faults.filter((fault) => fault.name.startsWith(name)).length;
  const agents = ledger.deliveries.filter(({ origin }) => origin === 'agent').length;
  const rows: [string, number | string][] = [
    ['requests', ledger.requests],
    ['previews executed', ledger.previews.size],
    ['keys', keys.length],
    ['submitted', count('submitted')],
    ['failed', count('failed')],
    ['preview already used', count('alreadyUsed')],
    ['replays', keys.reduce((sum, { replays }) => sum + replays, 0)],
    ['deliveries for agents', agents],
    ['deliveries for browsers', ledger.deliveries.length - agents],
    ['failed, yet delivered (sent, not confirmed)', apart.failedYetDelivered],
    ...storedRows(apart.stored),
    ['confirmation messages', ledger.mails.length],
    ['of them second copies, in flight at a kill', apart.copiesAtAKill],
    ['kills', struck('kill -9')],
    ['limit windows judged', apart.windowsJudged],
    ['limit windows beside a fault of Redis', apart.windowsBesideRedisFaults],
    ['violations', ledger.violations.length],
  ];
  return ['| total | |', '|---|---:|', ...rows.map(([name, value]) => `| ${name} | ${value} |`)];
}

/** Returns the table rows about browser submissions: the lost submissions, and the answers that people got. */
function storedRows(stored: Apart['stored']): [string, number][] {
  const each = (what: string, counts: Record<string, number>) =>
    Object.entries(counts).map(([name, count]): [string, number] => [`${what}: ${name}`, count]);
  return [
    ['submissions of browsers kept', stored.rows],
    ['of them delivered', stored.delivered],
    ['of them waiting', stored.waiting],
    ...each('of them undelivered', stored.undelivered),
    ['arrived more than once, under one id and body', stored.arrivedAgain],
    ['sent unkept, kept after all', stored.storedAfterAll],
    ['left to the operator, sent again after all', stored.sentAfterAll],
    ...each('502 held against rows and deliveries', stored.answers502),
    ['lost', stored.lost],
  ];
}

/** Lists every broken rule with its count, and the first violations in full. */
export function describeViolations(ledger: Ledger): string {
  const byRule = Map.groupBy(ledger.violations, ({ rule }) => rule);
  const lines: string[] = [];
  for (const [rule, violations] of byRule) {
    lines.push(`\nVIOLATED ${violations.length} times: ${rule}`);
    for (const { detail, from, to, trace } of violations.slice(0, TRACES)) {
      lines.push(`  ${detail} [${Math.round(from)}–${Math.round(to)} ms]`);
      for (const line of trace) lines.push(`      ${line}`);
    }
  }
  return lines.join('\n');
}

/** Lists the number of times that each answer was given. */
export function describeAnswers(ledger: Ledger): string {
  const sorted = [...ledger.answers].sort(([a], [b]) => a.localeCompare(b));
  return `answers: ${sorted.map(([answer, count]) => `${answer} × ${count}`).join(', ')}`;
}
