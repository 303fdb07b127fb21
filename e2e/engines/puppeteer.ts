/** Chromium by its own protocol and Firefox by WebDriver BiDi. */
import puppeteer, { type Browser, type LaunchOptions } from 'puppeteer-core';
import { ARGUMENTS, WHOLE_CHROMIUM } from '../browser.ts';
import type { Engine, Visit } from './engine.ts';

export const startChromium = () => start({ browser: 'chrome', executablePath: WHOLE_CHROMIUM, args: [...ARGUMENTS] });

export const startFirefox = () =>
  start({
    browser: 'firefox',
    executablePath: process.env.FIREFOX ?? '/usr/bin/firefox-esr',
    // Puppeteer loses a page that Firefox shows again from memory.
    extraPrefsFirefox: { 'browser.sessionhistory.max_total_viewers': 0 },
  });

async function start(options: LaunchOptions): Promise<Engine> {
  const browser = await puppeteer.launch({ ...options, acceptInsecureCerts: true });
  return { visit: () => visit(browser), close: () => browser.close() };
}

async function visit(browser: Browser): Promise<Visit> {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  await page.setViewport({ width: 1280, height: 900 });
  return {
    open: async (address) => void (await page.goto(address)),
    back: async () => void (await page.evaluate('history.back()')),
    fill: (selector, text) => page.locator(selector).fill(text),
    type: (text) => page.keyboard.type(text),
    tab: () => page.keyboard.press('Tab'),
    click: (selector) => page.locator(selector).click(),
    text: (selector) => page.$eval(selector, ({ innerText }: { innerText?: string }) => innerText ?? ''),
    value: (selector) => page.$eval(selector, ({ value }: { value?: string }) => value ?? ''),
    address: async () => String(await page.evaluate('location.href')),
    cookie: async (name) => (await context.cookies()).find((each) => each.name === name),
    close: () => context.close(),
  };
}
