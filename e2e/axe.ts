import axe from 'axe-core';
import type { Page } from 'playwright-core';

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** What axe finds on a page, each with the first element it is about; of AAA, if asked, whether contrast is 7:1. */
export async function findings(page: Page, contrast: 'AA' | 'AAA' = 'AA'): Promise<string[]> {
  // Chromium evaluates it outside of the page's policy.
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
