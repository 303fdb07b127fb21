/** The contractor's card: the recipient of a request, and the facts that the operator set. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readSettings } from '../../src/settings/settings.ts';
import { openSite } from '../../src/site/site.ts';

/** Returns the pages of a site with this `words.yaml`. */
async function pagesWith(words: string) {
  const folder = mkdtempSync(join(tmpdir(), 'content-'));
  writeFileSync(join(folder, 'words.yaml'), words);
  try {
    const read = readSettings({
      CONTENT_DIR: folder,
      CONTRACTOR_ID: 'c-1',
      CONTRACTOR_NAME: 'Sample & Sons',
      OPERATOR_NAME: 'Paint Match',
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
const all = `contractor:
  place: Springfield, Illinois
  since: 1998
  licence: 104-12345 <board>
  insured: General liability
  checked: License seen in March 2026
  telephone: +1 (555) 0100
  link: https://painter.example/about
`;

test('the contractor’s card is only on the start page, the quote form and the thank-you page after a quote', async () => {
  const pages = await pagesWith('lang: en\n');
  const shown = pages.filter(({ html }) => CARD.test(html)).map(({ path }) => path);
  expect(shown).toEqual(['/', '/quote']);
  const thanks = pages.flatMap(({ variantsByReferer = new Map() }) => [...variantsByReferer]);
  const after = thanks.filter(([, { html }]) => CARD.test(html));
  expect(after.map(([from]) => from)).toEqual(['/quote']);
  expect(cardIn(after[0]?.[1].html)).toContain('Your request went to');
});

test('the contractor’s card shows general facts if the operator set no facts', async () => {
  const card = cardIn((await pagesWith('lang: en\n'))[0]?.html);
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
  const one = cardIn((await pagesWith('contractor: { since: "2004", labels: { since: Seit } }\n'))[0]?.html);
  expect(one.match(/<dt>.*<\/dd>/g)).toEqual(['<dt>Seit</dt><dd><bdi>2004</bdi></dd>']);
});

describe('contractor in words.yaml', () => {
  test.each([
    ['since: 98', 'contractor.since: must be a year such as 1998'],
    ['since: long ago', 'contractor.since: must be a year such as 1998'],
    ['telephone: call us', 'contractor.telephone: must be a telephone number'],
    ['link: http://painter.example', 'contractor.link: must be an https:// address'],
    ['link: "javascript:alert(1)"', 'contractor.link: must be an https:// address'],
    ['link: https://user:word@painter.example', 'contractor.link: must be an https:// address'],
    ['place: "a\\nb"', 'contractor.place: must be one line of at most 120 characters'],
    [`insured: ${'x'.repeat(121)}`, 'contractor.insured: must be one line of at most 120 characters'],
    ['name: Somebody Else', 'contractor.name: is an unknown name'],
  ])('rejects %s at the start in one sentence without the value', async (fact, sentence) => {
    await expect(pagesWith(`contractor:\n  ${fact}\n`)).rejects.toThrow(`CONTENT_DIR: words.yaml: ${sentence}.`);
  });
});
