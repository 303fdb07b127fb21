import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Form, forms } from '../src/forms/catalog.ts';
import { pathsOfPage } from '../src/routes.ts';
import { leadForms } from '../test/support/forms.ts';
import { type ServiceProcess, spawnService, untilItAnswers } from '../test/support/process.ts';
import { openBrowser, openPage, overflowOf, type Surroundings } from './browser.ts';
import { answersTo, fillIn } from './visitor.ts';

const project = resolve(import.meta.dirname, '..');
const surroundings: [string, Surroundings][] = [
  ['with JavaScript at 1280 px', { javaScript: true, width: 1280 }],
  ['without JavaScript at 1280 px', { javaScript: false, width: 1280 }],
  ['without JavaScript at 360 px', { javaScript: false, width: 360 }],
];

let service: ServiceProcess;
let browser: Browser;

beforeAll(async () => {
  service = await spawnService();
  await untilItAnswers(service);
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await service.end();
  rmSync(service.dataDir, { recursive: true, force: true });
});

type Arrived = {
  type: string;
  data: { form: string; fields: Record<string, string>; origin: string; recipient: unknown };
};

/** Returns the events that `npm run inbox` lists for an address. */
async function arrivedFrom(email: string): Promise<Arrived[]> {
  const { stdout } = await promisify(execFile)(
    'npm',
    ['run', '--silent', 'inbox', '--', 'list', '--json', '--limit', '1000'],
    // A reduced environment, because vitest sets a BASE_URL of its own.
    { cwd: project, env: { PATH: process.env.PATH, HOME: tmpdir(), DATA_DIR: service.dataDir } },
  );
  const events: Arrived[] = stdout
    .trim()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  return events.filter(({ data }) => data.fields.email === email);
}

function mailTo(address: string): string[] {
  const folder = join(service.dataDir, 'mail');
  return readdirSync(folder)
    .filter((name) => name.endsWith('.eml'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .filter((text) => text.includes(`\r\nTo: ${address}\r\n`));
}

/** Opens the form's page, fills it in, sends it, and expects /thank-you. */
async function submit(form: Form, email: string, how: Surroundings): Promise<void> {
  const { page, complaints, close } = await openPage(browser, service.url, how);
  await page.goto(pathsOfPage(form.page).path);
  await fillIn(page, form, answersTo(form, email));
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
  await page.locator('form button[type=submit]').click();
  await page.waitForURL('**/thank-you');
  await page.getByText(/^Thank you\. /).waitFor();
  expect(complaints).toEqual([]);
  await close();
}

describe.each(surroundings)('forms %s', (name, how) => {
  const email = (form: Form) => `${form.name}-${name.replace(/\W+/g, '-')}@example.com`.toLowerCase();

  test.each(leadForms)('$page sends the form, and the inbox lists it', async (form) => {
    await submit(form, email(form), how);
    const fields = answersTo(form, email(form));
    const recipient = form.receivedBy === 'contractor' ? expect.anything() : null;
    expect(await arrivedFrom(email(form))).toMatchObject([
      { type: 'lead.created', data: { form: form.name, fields, origin: 'browser', recipient } },
    ]);
  });

  test('/newsletter sends the form, the inbox lists it, and the e-mail is written', async () => {
    const address = email(forms.newsletter);
    await submit(forms.newsletter, address, how);
    expect(await arrivedFrom(address)).toMatchObject([
      { type: 'subscriber.created', data: { form: 'newsletter', fields: { email: address } } },
    ]);
    await vi.waitFor(() => expect(mailTo(address)).toHaveLength(1), 5_000);
  });
});

test('a message of several lines keeps its line breaks', async () => {
  const { page, close } = await openPage(browser, service.url, { javaScript: false, width: 360 });
  const email = 'lines@example.com';
  await page.goto(pathsOfPage(forms.contact.page).path);
  await fillIn(page, forms.contact, {
    ...answersTo(forms.contact, email),
    message: 'First.\n\n  Zweite – “três”. 🎨',
  });
  await page.locator('form button[type=submit]').click();
  await page.waitForURL('**/thank-you');
  const [arrived] = await arrivedFrom(email);
  expect(arrived?.data.fields.message).toBe('First.\n\n  Zweite – “três”. 🎨');
  await close();
});
