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

export type Surroundings = { javaScript: boolean; width: number; scheme?: 'light' | 'dark' };

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
  { javaScript, width, scheme = 'light' }: Surroundings,
): Promise<Watched> {
  const context = await browser.newContext({
    baseURL: origin,
    javaScriptEnabled: javaScript,
    viewport: { width, height: 900 },
    colorScheme: scheme,
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
  page.on('requestfailed', (request) => {
    // Going on to the next page ends what the last one was still loading.
    const reason = request.failure()?.errorText ?? '';
    if (reason !== 'net::ERR_ABORTED') complaints.push(`failed: ${request.url()} ${reason}`);
  });
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) complaints.push(`elsewhere: ${request.url()}`);
  });
  // Where scripts are off, the console has the violations all the same.
  await page.exposeFunction('noteViolation', (directive: string) => {
    complaints.push(`policy: ${directive}`);
  });
  await page.addInitScript({
    content: `document.addEventListener('securitypolicyviolation', (event) => {
      noteViolation(event.violatedDirective);
    });`,
  });
  return { page, complaints, close: () => context.close() };
}

/** How many pixels the page is wider than the window: more than none, and it scrolls sideways. */
export async function overflowOf(page: Page): Promise<number> {
  return Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
}
