/** The contractor as people see them: what an operator says of them in `words.yaml`, and the card that shows it. */
import * as v from '@badrap/valita';
import { filled } from './filled.ts';
import { renderTemplate } from './templates.ts';

const LONGEST = 120;

/** What YAML takes for a number is one that people read, too. */
const fact = v
  .union(v.string(), v.number().map(String))
  .map((text) => text.trim())
  .assert(
    (text) => [...text].length <= LONGEST && !/\p{Cc}/u.test(text),
    `must be one line of at most ${LONGEST} characters`,
  );
const factThat = (matches: (text: string) => boolean, wrong: string) =>
  fact.assert((text) => text === '' || matches(text), wrong);

/** Each fact is empty until an operator sets it. The name is CONTRACTOR_NAME: who gets the data has one. */
const facts = {
  place: fact,
  since: factThat((text) => /^(1[6-9]|20)\d\d$/.test(text), 'must be a year, as 1998'),
  licence: fact,
  insured: fact,
  checked: fact,
  telephone: factThat((text) => /^\+?[\d ()./-]{3,40}$/.test(text), 'must be a telephone number'),
  link: factThat(isWebAddress, 'must be an https:// address'),
};

type FactName = keyof typeof facts;
const names = Object.keys(facts) as FactName[];

/** Of `words.yaml`: the facts, what each is called, and what the card says where none is set. */
export const contractorWords = v.object({
  ...facts,
  heading: v.string(),
  /** Once it is sent. */
  sentHeading: v.string(),
  labels: v.object({
    place: v.string(),
    since: v.string(),
    licence: v.string(),
    insured: v.string(),
    checked: v.string(),
    telephone: v.string(),
    link: v.string(),
  }),
  promises: v.array(v.string()),
});

export type ContractorWords = v.Infer<typeof contractorWords>;

type CardContext = {
  contractor: string;
  operator: string;
  isSent: boolean;
  /** Of the words, where the page is in another language. */
  languageMark: string;
};

/** Takes the words, who the contractor and the operator are, and whether it is sent; returns the card. */
export function contractorCard(
  words: ContractorWords,
  { contractor, operator, isSent, languageMark }: CardContext,
): string {
  const labels = filled(words.labels, { operator });
  return renderTemplate('contractor', {
    languageMark,
    heading: isSent ? words.sentHeading : words.heading,
    name: contractor,
    facts: names
      .filter((name) => words[name] !== '')
      .map((name) => ({
        label: labels[name],
        text: textOf(name, words),
        href: hrefOf(name, words),
      })),
    promises: words.promises,
  });
}

function textOf(name: FactName, words: ContractorWords): string {
  return name === 'link' ? (URL.parse(words.link)?.host ?? '') : words[name];
}

function hrefOf(name: FactName, words: ContractorWords): string | undefined {
  if (name === 'link') return words.link;
  return name === 'telephone' ? `tel:${words.telephone.replace(/[^\d+]/g, '')}` : undefined;
}

function isWebAddress(text: string): boolean {
  const address = URL.parse(text);
  return address?.protocol === 'https:' && address.username === '' && address.password === '';
}
