import { type Browser, chromium, type Page } from 'playwright-core';
import { freshAddress } from '../test/support/service.ts';

/** Nothing of the browser's own goes out, and it runs as root in a container too. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export type Surroundings = { javaScript: boolean; width: number };

export type Watched = {
  page: Page;
  /** Console errors, errors of scripts, requests to another origin, violations of the policy. */
  complaints: string[];
  close(): Promise<void>;
};

/** Chromium as the machine has it; `CHROMIUM` names another place. */
export function openBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
  return chromium.launch({ executablePath, args: ARGUMENTS, headless: true });
}

/** A page of a visitor with an address of their own, with everything noted that must not happen. */
export async function openPage(
  browser: Browser,
  origin: string,
  { javaScript, width }: Surroundings,
): Promise<Watched> {
  const context = await browser.newContext({
    baseURL: origin,
    javaScriptEnabled: javaScript,
    viewport: { width, height: 900 },
    extraHTTPHeaders: { 'x-forwarded-for': freshAddress() },
  });
  const complaints: string[] = [];
  const page = await context.newPage();
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') {
      complaints.push(`console: ${message.text()}`);
    }
  });
  page.on('pageerror', (error) => complaints.push(`script: ${error.message}`));
  page.on('requestfailed', (request) => complaints.push(`failed: ${request.url()}`));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) complaints.push(`elsewhere: ${request.url()}`);
  });
  // Where scripts are off, the console has the violations all the same.
  await page.exposeFunction('noteViolation', (directive: string) => {
    complaints.push(`policy: ${directive}`);
  });
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      (window as unknown as { noteViolation(directive: string): void }).noteViolation(
        event.violatedDirective,
      );
    });
  });
  return { page, complaints, close: () => context.close() };
}
