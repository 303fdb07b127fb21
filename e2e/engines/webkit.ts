/** MiniBrowser of WebKitGTK by WebDriver, on a display without a screen. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Builder, By, Capabilities, Key } from 'selenium-webdriver';
import { freePort } from '../../test/support/free-port.ts';
import { listens } from '../../test/support/listens.ts';
import { until } from '../../test/support/until.ts';
import type { Engine, Visit } from './engine.ts';

export async function startWebKit(): Promise<Engine> {
  const [binary] = globSync('/usr/lib/*/webkit2gtk-4.*/MiniBrowser');
  if (binary === undefined) throw new Error('Install webkit2gtk-driver and xvfb first.');
  const screen = spawn('Xvfb', ['-displayfd', '1', '-screen', '0', '1280x900x24', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [display] = await once(createInterface(screen.stdout), 'line');
  const port = await freePort();
  const driver = spawn('WebKitWebDriver', ['-p', String(port)], {
    env: { ...process.env, DISPLAY: `:${display}`, WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1' },
    stdio: 'ignore',
  });
  await until(() => listens(port));
  return {
    visit: () => visit(`http://127.0.0.1:${port}`, binary),
    close: async () => {
      await end(driver);
      await end(screen);
    },
  };
}

/** The driver's own limit for a page is 300 s. */
const PAGE_LOAD_MS = 20_000;

/** The driver has one session at a time. */
async function visit(server: string, binary: string): Promise<Visit> {
  const capabilities = new Capabilities({
    browserName: 'MiniBrowser',
    acceptInsecureCerts: true,
    'webkitgtk:browserOptions': { binary, args: ['--automation'] },
  });
  const driver = await new Builder().usingServer(server).withCapabilities(capabilities).build();
  await driver.manage().setTimeouts({ pageLoad: PAGE_LOAD_MS });
  const find = (selector: string) => driver.findElement(By.css(selector));
  /** Finds an element and scrolls to it, which the driver does not do before it types. */
  const reach = async (selector: string) => {
    const element = await find(selector);
    await driver.executeScript("arguments[0].scrollIntoView({ block: 'center' })", element);
    return element;
  };
  return {
    open: (address) => driver.get(address),
    back: () => driver.navigate().back(),
    fill: async (selector, text) => {
      const input = await reach(selector);
      await input.clear();
      await input.sendKeys(text.replaceAll('\n', Key.ENTER));
    },
    type: (text) => driver.actions().sendKeys(text).perform(),
    tab: () => driver.actions().sendKeys(Key.TAB).perform(),
    click: async (selector) => (await reach(selector)).click(),
    text: (selector) => find(selector).getText(),
    value: async (selector) => String(await find(selector).getProperty('value')),
    address: () => driver.getCurrentUrl(),
    cookie: async (name) => (await driver.manage().getCookies()).find((each) => each.name === name),
    // A driver that stopped answering has ended the session already.
    close: () => driver.quit().catch(() => {}),
  };
}

async function end(child: ChildProcess): Promise<void> {
  child.kill();
  await once(child, 'close');
}
