/** The contractor's card: the recipient of a request, and the facts that the operator set. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSettings } from '../../src/settings/settings.ts';
import { hasFacts } from '../../src/site/contractor.ts';
import { openSite } from '../../src/site/site.ts';

/** Returns the pages of a site with these settings and these files in CONTENT_DIR. */
async function pagesWith(environment: Record<string, string>, files: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'content-'));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  try {
    const read = readSettings({
      CONTENT_DIR: folder,
      CONTRACTOR_ID: 'c-1',
      CONTRACTOR_NAME: 'Sample & Sons',
      OPERATOR_NAME: 'Paint Match',
      ...environment,
    });
    if (read.kind === 'invalid') throw new Error(read.faults.join());
    const site = await openSite(read.settings);
    return await site.pages();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const CARD = /<section class="chip"[\s\S]*?<\/section>/;
const cardIn = (html = '') => CARD.exec(html)?.[0] ?? '';
const all = {
  CONTRACTOR_PLACE: 'Springfield, Illinois',
  CONTRACTOR_SINCE: '1998',
  CONTRACTOR_LICENSE: '104-12345 <board>',
  CONTRACTOR_INSURED: 'General liability',
  CONTRACTOR_CHECKED: 'License seen in March 2026',
  CONTRACTOR_TELEPHONE: '+1 (555) 0100',
  CONTRACTOR_LINK: 'https://painter.example/about',
};

test('the contractor’s card is only on the start page, the quote form and the thank-you page after a quote', async () => {
  const pages = await pagesWith({});
  const shown = pages.filter(({ html }) => CARD.test(html)).map(({ path }) => path);
  expect(shown).toEqual(['/', '/quote']);
  const thanks = pages.flatMap(({ variantsByReferer = new Map() }) => [...variantsByReferer]);
  const after = thanks.filter(([, { html }]) => CARD.test(html));
  expect(after.map(([from]) => from)).toEqual(['/quote']);
  expect(cardIn(after[0]?.[1].html)).toContain('Your request went to');
});

test('the contractor’s card shows general facts if the operator set no facts', async () => {
  const card = cardIn((await pagesWith({}))[0]?.html);
  expect(card).toContain('<span>Your request goes to</span> <strong><bdi>Sample &amp; Sons</bdi></strong>');
  expect(card.match(/<li>.*<\/li>/g)).toEqual([
    '<li>One contractor, not a list of bidders</li>',
    '<li>Allow two working days for an answer</li>',
    '<li>No account, no cookies</li>',
  ]);
});

test('the contractor’s card shows only the facts that the operator set, each with its label', async () => {
  const card = cardIn((await pagesWith(all))[0]?.html);
  const facts = [...card.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g)];
  expect(facts.map(([, label, text]) => [label, text])).toEqual([
    ['Place', '<bdi>Springfield, Illinois</bdi>'],
    ['In business since', '<bdi>1998</bdi>'],
    ['License', '<bdi>104-12345 &lt;board&gt;</bdi>'],
    ['Insurance', '<bdi>General liability</bdi>'],
    ['Checked by Paint Match', '<bdi>License seen in March 2026</bdi>'],
    ['Telephone', '<a href="tel:+15550100"><bdi>+1 (555) 0100</bdi></a>'],
    ['Website', '<a href="https://painter.example/about"><bdi>painter.example</bdi></a>'],
  ]);
  expect(card).not.toContain('<li>');
  const one = cardIn(
    (await pagesWith({ CONTRACTOR_SINCE: '2004' }, { 'words.yaml': 'contractor: { labels: { since: Seit } }' }))[0]
      ?.html,
  );
  expect(one.match(/<dt>.*<\/dd>/g)).toEqual(['<dt>Seit</dt><dd><bdi>2004</bdi></dd>']);
});

test('the contractor’s card shows the photo and the quotation of CONTENT_DIR', async () => {
  const words = 'contractor: { quotation: They <finished> early., quotationBy: Ada }';
  const [page] = await pagesWith(all, { 'contractor.jpg': 'a photo', 'words.yaml': words });
  const card = cardIn(page?.html);
  expect(card).toMatch(/<img src="\/assets\/contractor-[0-9a-f]{12}\.jpg" alt="">/);
  expect(card).toContain('<blockquote><p>They &lt;finished&gt; early.</p></blockquote>');
  expect(card).toContain('<figcaption>Ada</figcaption>');
  expect(cardIn((await pagesWith(all))[0]?.html)).not.toMatch(/<img|<figure/);
});

test('a start with two photos of the contractor ends with one sentence', async () => {
  await expect(pagesWith({}, { 'contractor.jpg': 'a', 'contractor.png': 'b' })).rejects.toThrow(
    'CONTENT_DIR: contractor.jpg and contractor.png exclude each other. Remove one of them.',
  );
});

test.each([
  ['CONTRACTOR_SINCE', '98', 'must be a year such as 1998'],
  ['CONTRACTOR_SINCE', 'long ago', 'must be a year such as 1998'],
  ['CONTRACTOR_TELEPHONE', 'call us', 'must be a telephone number'],
  ['CONTRACTOR_LINK', 'http://painter.example', 'must be an https:// address'],
  ['CONTRACTOR_LINK', 'javascript:alert(1)', 'must be an https:// address'],
  ['CONTRACTOR_LINK', 'https://user:word@painter.example', 'must be an https:// address'],
  ['CONTRACTOR_PLACE', 'a\nb', 'must be one line'],
  ['CONTRACTOR_INSURED', 'x'.repeat(121), 'must have at most 120 characters'],
])('a start rejects %s=%j in one sentence without the value', async (name, value, sentence) => {
  await expect(pagesWith({ [name]: value })).rejects.toThrow(`${name} ${sentence}`);
});

test('hasFacts() returns true if a setting has a fact of the contractor', () => {
  expect(hasFacts({})).toBe(false);
  expect(hasFacts({ contractorSince: '1987' })).toBe(true);
});
