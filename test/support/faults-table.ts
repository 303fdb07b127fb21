import type { Reporter, TestCase, TestModule } from 'vitest/node';

/**
 * Prints the injected faults and their violations as a Markdown table. A violation is a failed test that injected the
 * fault.
 */
export default class FaultsTable implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const rows = new Map<string, { times: number; violations: number }>();
    const skipped: string[] = [];
    for (const test of modules.flatMap((module) => [...module.children.allTests()])) {
      if (test.result().state === 'skipped') skipped.push(test.fullName);
      for (const [fault, times] of Object.entries(test.meta().injected ?? {})) {
        const row = rows.get(fault) ?? { times: 0, violations: 0 };
        rows.set(fault, { times: row.times + times, violations: row.violations + violated(test) });
      }
    }
    const lines = [...rows].map(([fault, { times, violations }]) => `| ${fault} | ${times} | ${violations} |`);
    const head = ['| fault | times injected | violations |', '|---|---|---|'];
    console.log(['', ...head, ...lines, ...skipped.map((name) => `Skipped: ${name}`)].join('\n'));
  }
}

function violated(test: TestCase): number {
  return test.result().state === 'failed' ? 1 : 0;
}
