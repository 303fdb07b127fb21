import axe from 'axe-core';
import type { Page } from 'playwright-core';

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Returns the findings of axe on a page, each with its first element. With AAA, contrast must be 7:1. */
export async function findings(page: Page, contrast: 'AA' | 'AAA' = 'AA'): Promise<string[]> {
  // Chromium evaluates it outside the page's policy.
  await page.evaluate(axe.source);
  const options = {
    runOnly: RULES,
    rules: { 'color-contrast-enhanced': { enabled: contrast === 'AAA' } },
    resultTypes: ['violations'],
  };
  const run = `axe.run(${JSON.stringify(options)}).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ' ' + nodes[0].target + ' ' + nodes[0].failureSummary))`;
  return (await page.evaluate(run)) as string[];
}
