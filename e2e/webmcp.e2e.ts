/** An assistant in the browser fills in the forms by WebMCP, and the person sends them (reference §15.10). */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Form, forms } from '../src/forms/catalog.ts';
import { pathsOfPage } from '../src/routes.ts';
import { pending } from '../test/confirmations/rig.ts';
import { quote } from '../test/support/agent.ts';
import { openBrowser, openPage } from './browser.ts';
import { signedIn } from './operator.ts';
import { type Site, startSite } from './site.ts';

let site: Site;
let browser: Browser;
beforeAll(async () => {
  site = await startSite({ NODE_ENV: 'test' });
  browser = await openBrowser(['WebMCP']);
});
afterAll(async () => {
  await browser.close();
  await site.close();
});

const visit = () => openPage(browser, site.service.url, { javaScript: true, width: 360 });

type Tool = {
  name: string;
  description: string;
  inputSchema: { properties: Record<string, object>; required: string[] };
};

/** Returns the tools that the browser makes of the forms of the open page. */
const toolsOf = async (page: Page): Promise<Tool[]> =>
  JSON.parse(
    String(
      await page.evaluate(
        `document.modelContext.getTools().then((tools) => JSON.stringify(tools.map(
          ({ name, description, inputSchema }) => ({ name, description, inputSchema }))))`,
      ),
    ),
  ).map((tool: Tool) => ({
    ...tool,
    inputSchema: typeof tool.inputSchema === 'string' ? JSON.parse(tool.inputSchema) : tool.inputSchema,
  }));

/** Calls the only tool of the page, as an assistant in the browser does, and waits until the page has reacted. */
async function callTool(page: Page, values: object): Promise<void> {
  await page.evaluate(`document.modelContext.getTools().then(([tool]) => {
    document.modelContext.executeTool(tool, ${JSON.stringify(values)}).catch(() => {});
  })`);
  await page.locator('.notice').waitFor();
}

describe('WebMCP', () => {
  test.each(Object.values(forms))('makes a tool of the form $name, with each field', async (form: Form) => {
    const { page, close } = await visit();
    await page.goto(pathsOfPage(form.page).path);
    const [tool, ...more] = await toolsOf(page);
    expect([tool?.name, more]).toEqual([form.name, []]);
    expect(tool?.description).toContain(form.purpose);
    const { properties = {}, required } = tool?.inputSchema ?? {};
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(form.fields.map(({ name }) => name)));
    expect(required).toEqual(
      expect.arrayContaining(form.fields.flatMap(({ name, required: is }) => (is ? [name] : []))),
    );
    for (const [name, property] of Object.entries(properties)) expect(property, name).toHaveProperty('description');
    await close();
  });

  test('fills in a form and sends nothing before the person uses the button', async () => {
    const { page, complaints, close } = await visit();
    await page.goto('/quote');
    await callTool(page, { ...quote, name: '\u2060Ada\u202e Lovelace', 'bot-field': 'x' });
    expect(await page.locator('.notice').innerText()).toContain('Nothing has been sent yet.');
    expect(await page.locator('[name=name]').inputValue()).toBe(quote.name);
    expect(await page.locator('[name=bot-field]').inputValue()).toBe('');
    expect(site.upstream.delivered).toEqual([]);
    await page.locator('form.form button[type=submit]').click();
    await page.waitForURL('**/thank-you');
    expect(site.upstream.delivered.map(({ event }) => event.data.fields)).toEqual([quote]);
    expect(complaints).toEqual([]);
    await close();
  });

  test('never ticks the box of the consent', async () => {
    const { page, close } = await visit();
    await page.goto('/newsletter');
    await callTool(page, { email: quote.email, privacy: true });
    expect(await page.locator('[name=email]').inputValue()).toBe(quote.email);
    expect(await page.locator('[name=privacy]').isChecked()).toBe(false);
    await close();
  });

  test('makes no tool of the pages where a person confirms or signs in, or of the console', async () => {
    const { path } = await pending(site.service);
    const { page, close } = await visit();
    for (const each of [path, `/newsletter/leave/${'a'.repeat(43)}`, '/operator/sign-in', '/']) {
      await page.goto(each);
      expect(await toolsOf(page), each).toEqual([]);
    }
    await close();
    const console = await signedIn(browser, site, { javaScript: true, width: 1280 });
    for (const each of ['/operator', '/operator/leads', '/operator/agents']) {
      await console.page.goto(each);
      expect(await console.page.locator('form').count(), each).toBeGreaterThan(0);
      expect(await toolsOf(console.page), each).toEqual([]);
    }
    await console.close();
  });
});
