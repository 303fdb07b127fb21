/** Takes the two pictures of README: the quote form and the list of leads. Writes them into `docs/images/`. */
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { forms } from '../src/forms/catalog.ts';
import { keepRows, submissionRow } from '../test/support/submissions.ts';
import { openBrowser, openPage } from './browser.ts';
import { signedIn } from './operator.ts';
import { startSite } from './site.ts';
import { answersTo, fillIn } from './visitor.ts';

const folder = resolve(import.meta.dirname, '../docs/images');
const MINUTE_MS = 60_000;
const WIDTH = 1000;

const leads = [
  ['Ada Lovelace', '94110', 'Two bedrooms and the hallway, walls and ceilings.'],
  ['Grace Hopper', '94107', 'The south side has come off in flakes since the winter.'],
  ['Mary Jackson', '94122', 'A garage door and four window frames.'],
  ['José Ramírez', '94131', 'Kitchen cabinets. Could somebody look at them before May?'],
  ['Anna Świątek', '94116', 'Stairwell of a house with three floors.'],
  ['Tom Baker', '94133', 'A fence, about 30 meters.'],
] as const;

const site = await startSite({ NODE_ENV: 'test' });
const browser = await openBrowser();
mkdirSync(folder, { recursive: true });
try {
  const { page } = await openPage(browser, site.service.url, { javaScript: true, width: WIDTH });
  await page.goto('/quote');
  await fillIn(page, forms.homeowner_quote, answersTo(forms.homeowner_quote, 'ada@example.com'));
  await page.evaluate('document.activeElement.blur(); scrollTo(0, 0)');
  await page.screenshot({ path: `${folder}/form.png` });

  const rows = leads.map(([name, postal_code, message], index) =>
    submissionRow({
      receivedAt: new Date(Date.now() - index * 47 * MINUTE_MS).toISOString(),
      fields: { name, postal_code, message, email: `${name.split(' ')[0]?.toLowerCase()}@example.com` },
      ...(index % 3 === 1 && { origin: 'agent' as const, data: { client: 'acme-assistant' } }),
    }),
  );
  await keepRows(site.service.parts.storage, rows);
  const operator = await signedIn(browser, site, { javaScript: true, width: WIDTH });
  await operator.page.goto('/operator/leads');
  await operator.page.screenshot({ path: `${folder}/console.png` });
} finally {
  await browser.close();
  await site.close();
}
