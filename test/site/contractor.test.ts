/** The card of the contractor: who gets the request, and what an operator says of them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readSettings } from '../../src/settings/settings.ts';
import { openSite } from '../../src/site/site.ts';

/** The pages of a site whose `words.yaml` says this. */
function pagesWith(words: string) {
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
    return openSite(read.settings).pages();
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

test('stands on the start page, beside the form for a quote, after that was sent, and nowhere else', () => {
  const pages = pagesWith('lang: en\n');
  const shown = pages.filter(({ html }) => CARD.test(html)).map(({ path }) => path);
  expect(shown).toEqual(['/', '/quote']);
  const thanks = pages.flatMap((page) => page.thanks);
  const after = thanks.filter(({ html }) => CARD.test(html));
  expect(after.map(({ form }) => form.name)).toEqual(['homeowner_quote']);
  expect(cardIn(after[0]?.html)).toContain('Your request went to');
});

test('says with nothing set what holds for every contractor here', () => {
  const card = cardIn(pagesWith('lang: en\n')[0]?.html);
  expect(card).toContain(
    '<span>Your request goes to</span> <strong><bdi>Sample &amp; Sons</bdi></strong>',
  );
  expect(card.match(/<li>.*<\/li>/g)).toEqual([
    '<li>One contractor, not a list of bidders</li>',
    '<li>Allow two working days</li>',
    '<li>No account, no cookies</li>',
  ]);
});

test('says the facts that an operator set, each under its name, and nothing of the others', () => {
  const card = cardIn(pagesWith(all)[0]?.html);
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
    pagesWith('contractor: { since: "2004", labels: { since: Seit } }\n')[0]?.html,
  );
  expect(one.match(/<dt>.*<\/dd>/g)).toEqual(['<dt>Seit</dt><dd><bdi>2004</bdi></dd>']);
});

describe('a value that nobody could use stops the start, in one sentence without the value', () => {
  test.each([
    ['since: 98', 'contractor.since: must be a year, as 1998'],
    ['since: long ago', 'contractor.since: must be a year, as 1998'],
    ['telephone: call us', 'contractor.telephone: must be a telephone number'],
    ['link: http://painter.example', 'contractor.link: must be an https:// address'],
    ['link: "javascript:alert(1)"', 'contractor.link: must be an https:// address'],
    ['link: https://user:word@painter.example', 'contractor.link: must be an https:// address'],
    ['place: "a\\nb"', 'contractor.place: must be one line of at most 120 characters'],
    [
      `insured: ${'x'.repeat(121)}`,
      'contractor.insured: must be one line of at most 120 characters',
    ],
    ['name: Somebody Else', 'contractor.name: is not known'],
  ])('%s', (fact, sentence) => {
    expect(() => pagesWith(`contractor:\n  ${fact}\n`)).toThrow(
      `CONTENT_DIR: words.yaml: ${sentence}.`,
    );
  });
});
