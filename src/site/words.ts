/**
 * The words of the site that stand in no page: ours, from `content/words.yaml`, with an operator's
 * own laid over them (CONTENT_DIR). Whatever a translation leaves out stays English.
 */
import { readFileSync } from 'node:fs';
import * as v from '@badrap/valita';
import { load, loadAll } from 'js-yaml';
import { type Field, type Form, forms } from '../forms/catalog.ts';
import { once } from '../once.ts';
import { checkShape } from '../settings/shape.ts';
import { CODE, type ConfirmWords, ourConfirmWords } from './confirm-words.ts';
import { contractorWords } from './contractor.ts';
import { type FormWords, ourFormWords } from './form-words.ts';
import { LINKS, type NewsletterWords, ourNewsletterWords } from './newsletter-words.ts';

/** BCP 47. */
export const languageTag = v.string().assert(isLanguageTag, 'is no language tag');

function isLanguageTag(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length === 1;
  } catch {
    return false;
  }
}

/** Of a choice: it may not be blank. */
const choice = v.string().assert((text) => text !== '', 'must not be empty');

/** Every object of the site's words takes only what ours has: a misspelt name is a fault. */
const links = v.array(v.object({ label: v.string(), href: v.string() }));
const fieldWords = v.object({
  label: v.string().optional(),
  hint: v.string().optional(),
  choices: v
    .array(choice)
    .assert(({ length }) => length > 0, 'needs at least one')
    .optional(),
});
const byStatus = v
  .record(v.string())
  .assert(
    (given) => Object.keys(given).every((status) => /^[45]\d\d$/.test(status)),
    'takes statuses of errors alone, as 404',
  );
const byField = v.record(fieldWords);
const byForm = Object.keys(forms).map((name) => [name, byField.optional()] as const);

const schema = v.object({
  lang: languageTag,
  frame: v.object({
    skip: v.string(),
    main: v.string(),
    all: v.string(),
    note: v.string(),
    markdown: v.string(),
    /** What the picture shows that stands beside a link to a page. */
    picture: v.string(),
    /** What `{{contact}}` says where no OPERATOR_CONTACT is set. */
    contact: v.string(),
    /** Who gets a request where no CONTRACTOR_NAME is set. */
    contractor: v.string(),
    header: links,
    footer: links,
    /** What the second row of the footer is called, and what stands in it. */
    developers: v.string(),
    developerLinks: links,
  }),
  /** Of pages with code, or with contents at their side. */
  documentation: v.object({
    contents: v.string(),
    language: v.string(),
    answer: v.string(),
    copy: v.string(),
    copied: v.string(),
    /** Where a browser lets no script copy: the code is selected. */
    notCopied: v.string(),
    /** What a table is called that stands under no heading. */
    table: v.string(),
  }),
  flow: v.object({
    title: v.string(),
    description: v.string(),
    steps: v
      .array(v.object({ title: v.string(), note: v.string() }))
      .assert(({ length }) => length === 5, 'must be five'),
    no: v.string(),
    yes: v.string(),
    recipient: v.string(),
  }),
  /** The card of the contractor. */
  contractor: contractorWords,
  /** What the page that thanks says where scripts run. */
  sent: v.object({
    at: v.string(),
    reference: v.string(),
    copy: v.string(),
    copyNote: v.string(),
    print: v.string(),
  }),
  /** The pages of errors; by status, what is not said there is said in `heading` and the catalogue. */
  errors: v.object({
    heading: v.string(),
    headings: byStatus,
    sentences: byStatus,
    typed: v.string(),
    back: v.string(),
    /** In place of `back` where the browser still has what was typed, and the form would be empty. */
    again: v.string(),
    start: v.string(),
  }),
  /** What forms say when something is wrong: the sentences of `form-words.ts`. */
  form: sameShape(ourFormWords) as v.Type<FormWords>,
  /** What a person reads where they confirm: the sentences of `confirm-words.ts`. */
  confirm: (sameShape(ourConfirmWords) as v.Type<ConfirmWords>).assert(
    ({ message }) => message.text.includes(CODE),
    `needs ${CODE} in the text of its message`,
  ),
  /** What a subscriber reads, in the message and where its links lead: the sentences of `newsletter-words.ts`. */
  newsletter: (sameShape(ourNewsletterWords) as v.Type<NewsletterWords>).assert(
    ({ message }) => LINKS.every((link) => message.text.includes(link)),
    `needs ${LINKS.join(' and ')} in the text of its message`,
  ),
  fields: byField,
  forms: v.object(Object.fromEntries(byForm)),
});

export type Words = v.Infer<typeof schema>;

/** The words as they come with the service, read for the first page. */
export const ourWords = once((): Words => {
  const text = readFileSync(new URL('../../content/words.yaml', import.meta.url), 'utf8');
  const ours = { form: ourFormWords, confirm: ourConfirmWords, newsletter: ourNewsletterWords };
  return schema.parse({ ...(load(text) as object), ...ours });
});

/** Words under the same names, however deep. */
function sameShape(words: object): v.Type {
  const shapes = Object.entries(words).map(([name, value]) => [
    name,
    typeof value === 'object' ? sameShape(value) : v.string(),
  ]);
  return v.object(Object.fromEntries(shapes));
}

/** Takes the text of an operator's `words.yaml`; returns ours under it, or throws what is wrong. */
export function layWords(text: string): Words {
  // A file of nothing but comments holds no document.
  const [own, second] = loadAll(text);
  if (second !== undefined) throw new Error('it holds more than one document');
  const checked = checkShape(schema, lay(ourWords(), own ?? {}));
  if (checked.kind === 'invalid') throw new Error(checked.why);
  const words = checked.value;
  const known = new Set(
    Object.values(forms).flatMap((form) => form.fields.map(({ name }) => name)),
  );
  for (const named of [words.fields, ...Object.values(words.forms)]) {
    const stranger = Object.keys(named ?? {}).find((name) => !known.has(name));
    if (stranger !== undefined) throw new Error(`no form has a field ${stranger}`);
  }
  return words;
}

/** Objects are laid over each other name by name; everything else, lists included, is replaced. */
function lay(under: unknown, over: unknown): unknown {
  if (!isObject(under) || !isObject(over)) return over;
  const laid = Object.entries(over).map(([name, value]) => [name, lay(under[name], value)]);
  return { ...under, ...Object.fromEntries(laid) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Takes a form; returns it as people are asked, with the operator's labels, hints and choices. */
export function wordedForm(form: Form, words: Words): Form {
  const fields = form.fields.map((field) => wordedField(form, field, words));
  return fields.every((field, index) => field === form.fields[index]) ? form : { ...form, fields };
}

function wordedField(form: Form, field: Field, words: Words): Field {
  const given = { ...words.fields[field.name], ...words.forms[form.name]?.[field.name] };
  if (Object.keys(given).length === 0) return field;
  const { hint: ours, ...rest } = field;
  const { label = field.label, hint = ours, choices = field.choices } = given;
  return {
    ...rest,
    label,
    // An empty hint takes ours away.
    ...(hint === undefined || hint === '' ? {} : { hint }),
    ...(choices === undefined ? {} : { choices }),
  };
}
