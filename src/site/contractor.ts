/** The facts about the contractor in `words.yaml`, and the card that shows them. */
import * as v from '@badrap/valita';
import { contactHref, fillInAll } from './interpolate.ts';
import { renderTemplate } from './templates.ts';

const MAXIMUM = 120;

/** One line of text. A number is accepted, because YAML reads a year as a number. */
const fact = v
  .union(v.string(), v.number().map(String))
  .map((text) => text.trim())
  .assert(
    (text) => [...text].length <= MAXIMUM && !/\p{Cc}/u.test(text),
    `must be one line of at most ${MAXIMUM} characters`,
  );
const factThat = (matches: (text: string) => boolean, wrong: string) =>
  fact.assert((text) => text === '' || matches(text), wrong);

/** An empty fact is not shown. The contractor's name is CONTRACTOR_NAME. */
const facts = {
  place: fact,
  since: factThat((text) => /^(1[6-9]|20)\d\d$/.test(text), 'must be a year such as 1998'),
  licence: fact,
  insured: fact,
  checked: fact,
  telephone: factThat((text) => /^\+?[\d ()./-]{3,40}$/.test(text), 'must be a telephone number'),
  link: factThat(isWebAddress, 'must be an https:// address'),
};

type FactName = keyof typeof facts;
const names = Object.keys(facts) as FactName[];
const labels = Object.fromEntries(names.map((name) => [name, v.string()]));

/** The group `contractor` of `words.yaml`: facts, their labels, and the promises of a card without facts. */
export const contractorWords = v.object({
  ...facts,
  heading: v.string(),
  sentHeading: v.string(),
  labels: v.object(labels as Record<FactName, v.Type<string>>),
  promises: v.array(v.string()),
});

type CardContext = { contractor: string; operator: string; isSent: boolean; languageMark: string };

export function renderContractorCard(words: v.Infer<typeof contractorWords>, context: CardContext): string {
  const { contractor, operator, isSent, languageMark } = context;
  const labels = fillInAll(words.labels, { operator });
  return renderTemplate('contractor', {
    languageMark,
    heading: isSent ? words.sentHeading : words.heading,
    name: contractor,
    facts: names
      .filter((name) => words[name] !== '')
      .map((name) => ({ label: labels[name], ...shownFact(name, words[name]) })),
    promises: words.promises,
  });
}

function shownFact(name: FactName, text: string): { text: string; href?: string } {
  if (name === 'link') return { text: URL.parse(text)?.host ?? '', href: text };
  return name === 'telephone' ? { text, href: contactHref(text) } : { text };
}

function isWebAddress(text: string): boolean {
  const address = URL.parse(text);
  return address?.protocol === 'https:' && address.username === '' && address.password === '';
}
