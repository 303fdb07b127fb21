import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';
import { freshAddress } from '../test/support/service.ts';

/** Stops the browser's own requests, and lets it run as root in a container. */
export const ARGUMENTS = [
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
  /** Console errors, script errors, requests to another origin and policy violations. */
  complaints: string[];
  close(): Promise<void>;
};

/** Path of the Chromium that people use. The tests of all engines use it. */
export const WHOLE_CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';

/**
 * Path of a Chromium without the parts that only a person at a screen needs. By default, Playwright installs this kind
 * of browser for tests. It needs less than half of the processor time.
 */
const HEADLESS_SHELL = '/usr/bin/chromium-headless-shell';

/**
 * Opens the Chromium at the path in `CHROMIUM`, or the machine's headless shell, or the machine's whole Chromium.
 * `features` are features of the browser that are not on by default.
 */
export function openBrowser(features: readonly string[] = []): Promise<Browser> {
  const hasShell = process.env.CHROMIUM === undefined && existsSync(HEADLESS_SHELL);
  const executablePath = hasShell ? HEADLESS_SHELL : WHOLE_CHROMIUM;
  const further = features.map((name) => `--enable-features=${name}`);
  return chromium.launch({ executablePath, args: [...ARGUMENTS, ...further], headless: true });
}

/** Opens a page for a visitor with an address of their own, and records everything that must not happen. */
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
    // Opening the next page aborts requests of the previous one.
    const reason = request.failure()?.errorText ?? '';
    if (reason !== 'net::ERR_ABORTED') complaints.push(`failed: ${request.url()} ${reason}`);
  });
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) complaints.push(`elsewhere: ${request.url()}`);
  });
  // Without scripts, the console still shows the violations.
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

/** Returns by how many pixels the page is wider than the window. Above 0, it scrolls sideways. */
export async function overflowOf(page: Page): Promise<number> {
  return Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
}
