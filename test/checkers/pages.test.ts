/** Checks every page with the Nu HTML checker, which needs Java, and with pa11y. `npm run programs` installs both. */
import { spawn } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import puppeteer from 'puppeteer-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ranToTheEnd } from '../support/ran.ts';
import type { Service } from '../support/service.ts';
import { type RenderedPage, renderEveryPage, startForCheckers } from './every-page.ts';

const project = resolve(import.meta.dirname, '../..');
const program = join(import.meta.dirname, 'program');
const jar = join(program, 'node_modules/vnu-jar/build/dist/vnu.jar');

/** Errors about attributes of WebMCP and about new CSS, which the Nu HTML checker does not support yet. */
const UNSUPPORTED = [
  /^Attribute “tool(name|description|paramdescription)” not allowed on element /,
  /^CSS: “(container|field-sizing)”: Property “\1” doesn't exist\.$/,
  /^CSS: Unrecognized at-rule “@container”$/,
];

/** The first compiler alone takes a third of the processor time. Its frames need a larger stack. */
const JAVA = ['-XX:TieredStopAtLevel=1', '-Xss8m'];

type Message = { url: string; type: string; message: string; extract?: string };
type Pa11y = (
  url: string,
  options: object,
) => Promise<{ issues: { code: string; message: string; selector: string; context: string }[] }>;

const slow = { timeout: 240_000 };

let english: Service;
let german: Service;
let pages: { English: RenderedPage[]; German: RenderedPage[] };
beforeAll(async () => {
  if (!existsSync(jar)) throw new Error('Install the checkers first: npm run programs');
  english = await startForCheckers();
  german = await startForCheckers({ CONTENT_DIR: join(project, 'examples/content-de') });
  pages = { English: await renderEveryPage(english), German: await renderEveryPage(german) };
});
afterAll(async () => {
  await english.close();
  await german.close();
});

test('the Nu HTML checker has no errors and no warnings about any page or stylesheet', slow, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pages-'));
  for (const [language, rendered] of Object.entries(pages)) {
    mkdirSync(join(folder, language));
    for (const [index, { html }] of rendered.entries()) {
      // The checker reads the stylesheets once, as files.
      const withoutRules = html.replaceAll(/(?<=<style>).*?(?=<\/style>)/gs, '');
      writeFileSync(join(folder, language, `${index}.html`), withoutRules);
    }
  }
  const options = ['--format', 'json', '--stdout', '--exit-zero-always', '--also-check-css'];
  const stylesheets = globSync(join(project, 'src/**/*.css'));
  const checker = spawn('java', [...JAVA, '-jar', jar, ...options, folder, ...stylesheets]);
  const { status, stdout, stderr } = await ranToTheEnd(checker);
  rmSync(folder, { recursive: true });
  expect([status, stderr]).toEqual([0, '']);
  const messages: Message[] = JSON.parse(stdout).messages;
  const found = messages.filter(({ message }) => UNSUPPORTED.every((each) => !each.test(message)));
  expect(found.map(({ url, type, message, extract }) => [nameOf(url), type, message, extract])).toEqual([]);
});

/** Returns the name of the page in a file, or the path of a stylesheet. */
function nameOf(url: string): string {
  const [, language, index] = /\/(English|German)\/(\d+)\.html$/.exec(url) ?? [];
  return language === undefined ? url : `${language}: ${pages[language as keyof typeof pages][Number(index)]?.name}`;
}

test('pa11y has no issues of WCAG 2 AAA about any page', slow, async () => {
  const pa11y: Pa11y = createRequire(join(program, 'package.json'))('pa11y');
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
  const browser = await puppeteer.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  const { server, origin } = await serve(pages.English);
  const page = await browser.newPage();
  const found: string[][] = [];
  for (const [index, { name }] of pages.English.entries()) {
    await page.goto(`${origin}/${index}`);
    const viewport = { width: 1280, height: 900 };
    // It does not see by itself that no one can perceive a hidden element.
    const options = { browser, page, ignoreUrl: true, standard: 'WCAG2AAA', viewport, hideElements: '[hidden]' };
    const { issues } = await pa11y(origin, options);
    for (const { code, message, selector, context } of issues) {
      // It can't compute colours that are mixed. axe checks the same pages.
      if (!message.includes('a contrast ratio of NaN:1')) found.push([name, code, message, selector, context]);
    }
  }
  await browser.close();
  server.closeAllConnections();
  server.close();
  expect(found).toEqual([]);
});

/** Serves each page at its index, and the files of the service at their paths. */
async function serve(rendered: readonly RenderedPage[]): Promise<{ server: Server; origin: string }> {
  const server = createServer(async ({ url = '' }, response) => {
    const html = rendered.find((_, index) => url === `/${index}`)?.html;
    if (html !== undefined) return response.setHeader('content-type', 'text/html; charset=utf-8').end(html);
    const file = await fetch(english.url + url);
    const type = file.headers.get('content-type') ?? '';
    return response.writeHead(file.status, { 'content-type': type }).end(await file.bytes());
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
