import type { Browser } from 'playwright-core';
import { linkFor } from '../test/console/operator.ts';
import { openPage, type Surroundings } from './browser.ts';
import type { Site } from './site.ts';

/** Signs in as an operator and returns the first page of the console. */
export async function signedIn(browser: Browser, { service }: Site, surroundings: Surroundings) {
  const visit = await openPage(browser, service.url, surroundings);
  await visit.page.goto(await linkFor(service));
  await visit.page.getByRole('button', { name: 'Sign in' }).click();
  await visit.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  return visit;
}
