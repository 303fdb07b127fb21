/** The links in the header and the footer of every page (reference §15.1). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call } from '../support/agent.ts';
import { formPages } from '../support/forms.ts';
import { type Service, startService } from '../support/service.ts';

const FOR_PEOPLE = ['/', ...formPages, '/privacy', '/thank-you'];
const FOR_DEVELOPERS = ['/agents', '/reference', '/receivers', '/receipts', '/embed'];

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const htmlOf = async (path: string) =>
  (await call(service, path, { method: 'GET', headers: { accept: 'text/html' } })).text;
const partOf = (html: string, name: string) => new RegExp(`<${name}[\\s\\S]*</${name}>`).exec(html)?.[0] ?? '';

test.each([...FOR_PEOPLE, ...FOR_DEVELOPERS, '/nothing-here'])(
  'the footer of %s has a row for developers, and no link says “agents”',
  async (path) => {
    const html = await htmlOf(path);
    const [header, footer] = [partOf(html, 'header'), partOf(html, 'footer')];
    expect((header + footer).replace(/<[^>]*>/g, '')).not.toMatch(/agents/i);
    const [everybody = '', developers = ''] = footer.split('For developers');
    expect(everybody).not.toMatch(/\/agents|\/reference|\.md"/);
    const mirror = path === '/nothing-here' ? [] : ['.md"'];
    for (const part of ['"/agents"', '"/reference"', ...mirror]) expect(developers).toContain(part);
  },
);

test.each([...FOR_PEOPLE, '/nothing-here'])('the header of %s has no link for developers', async (path) => {
  const header = partOf(await htmlOf(path), 'header');
  expect(header).toContain('href="/quote"');
  expect(header).not.toMatch(/\/agents|\/reference/);
});

test.each(FOR_DEVELOPERS)(
  'the header of %s leads to the other pages for developers and marks its own',
  async (path) => {
    const links = [...partOf(await htmlOf(path), 'header').matchAll(/<li><a href="([^"]+)"( aria-current="page")?>/g)];
    expect(links.map(([, href]) => href)).toEqual([
      '/agents',
      '/reference',
      '/reference#error-codes',
      '/receivers',
      '/receipts',
      '/embed',
    ]);
    expect(links.filter(([, , current]) => current).map(([, href]) => href)).toEqual([path]);
    for (const [, href = ''] of links) expect((await call(service, href, { method: 'GET' })).status).toBe(200);
  },
);
