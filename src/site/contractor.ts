/** The card of the contractor: the facts of the settings, and of CONTENT_DIR a photo and a quotation. */
import * as v from '@badrap/valita';
import type { Settings } from '../settings/settings.ts';
import { contactHref, fillInAll } from './interpolate.ts';
import { renderTemplate } from './templates.ts';

const QUOTATION_MAXIMUM = 300;

/** The settings of the facts, in the order of the card. */
const FACTS = {
  place: 'contractorPlace',
  since: 'contractorSince',
  license: 'contractorLicense',
  insured: 'contractorInsured',
  checked: 'contractorChecked',
  telephone: 'contractorTelephone',
  link: 'contractorLink',
} as const;

type FactName = keyof typeof FACTS;
export type ContractorFacts = Partial<Pick<Settings, (typeof FACTS)[FactName]>>;

const names = Object.keys(FACTS) as FactName[];
const quotation = v
  .string()
  .assert(({ length }) => length <= QUOTATION_MAXIMUM, `must have at most ${QUOTATION_MAXIMUM} characters`);

/** The group `contractor` of `words.yaml`: a quotation, labels of facts, and the promises of a card without facts. */
export const contractorWords = v.object({
  heading: v.string(),
  sentHeading: v.string(),
  quotation,
  quotationBy: quotation,
  labels: v.object(Object.fromEntries(names.map((name) => [name, v.string()])) as Record<FactName, v.Type<string>>),
  promises: v.array(v.string()),
});

/** Returns true if a setting has a fact. */
export function hasFacts(settings: ContractorFacts): boolean {
  return names.some((name) => settings[FACTS[name]] !== undefined);
}

type CardContext = {
  facts: ContractorFacts;
  contractor: string;
  operator: string;
  photo: string | undefined;
  isSent: boolean;
  languageMark: string;
};

export function renderContractorCard(words: v.Infer<typeof contractorWords>, context: CardContext): string {
  const { facts, contractor, operator, photo, isSent, languageMark } = context;
  const labels = fillInAll(words.labels, { operator });
  return renderTemplate('contractor', {
    languageMark,
    photo,
    heading: isSent ? words.sentHeading : words.heading,
    name: contractor,
    facts: names.flatMap((name) => {
      const text = facts[FACTS[name]];
      return text === undefined ? [] : [{ label: labels[name], ...shownFact(name, text) }];
    }),
    promises: words.promises,
    quotation: words.quotation,
    quotationBy: words.quotationBy,
  });
}

function shownFact(name: FactName, text: string): { text: string; href?: string } {
  if (name === 'link') return { text: URL.parse(text)?.host ?? '', href: text };
  return name === 'telephone' ? { text, href: contactHref(text) } : { text };
}
