import axe from 'axe-core';
import type { Page } from 'playwright-core';

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** What axe finds on a page, each with the first element it is about; of AAA it looks at the contrast, 7:1. */
export async function findings(page: Page): Promise<string[]> {
  // Chromium evaluates it outside of the page's policy.
  await page.evaluate(axe.source);
  const rules = { 'color-contrast-enhanced': { enabled: true } };
  const run = `axe.run(${JSON.stringify({ runOnly: RULES, rules })}).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ' ' + nodes[0].target + ' ' + nodes[0].failureSummary))`;
  return (await page.evaluate(run)) as string[];
}
