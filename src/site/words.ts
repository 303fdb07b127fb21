/**
 * All texts of the site outside of pages: the defaults in `content/words.yaml`, merged with the `words.yaml` of
 * CONTENT_DIR. One schema checks the defaults and the operator's words. A text that a translation leaves out stays
 * English.
 */
import { readFileSync } from 'node:fs';
import * as v from '@badrap/valita';
import { load, loadAll } from 'js-yaml';
import { SCOPES } from '../credentials/clients.ts';
import { connectProblems } from '../failures/oauth-problems.ts';
import { newsletterProblems, pressProblems } from '../failures/page-problems.ts';
import { pageWords } from '../failures/problem.ts';
import { type Field, type Form, forms } from '../forms/catalog.ts';
import { isObject } from '../http/request.ts';
import { once } from '../platform/lazy.ts';
import { projectFile } from '../project.ts';
import { checkShape } from '../settings/shape.ts';
import { contractorWords } from './contractor.ts';

/** A language tag (BCP 47). */
export const languageTag = v.string().assert(isLanguageTag, 'is not a language tag');

function isLanguageTag(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length === 1;
  } catch {
    return false;
  }
}

const text = v.string();

type NameIn<List extends string> = List extends `${infer First} ${infer Rest}` ? First | NameIn<Rest> : List;

/** Returns the shape of an object with these names. An unknown name is an error, so a misspelt one is noticed. */
const allOf = <Name extends string, Value extends v.Type | v.Optional>(names: readonly Name[], value: Value) =>
  v.object(Object.fromEntries(names.map((name) => [name, value])) as Record<Name, Value>);
const namesOf = <Name extends string>(of: Record<Name, unknown>) => Object.keys(of) as Name[];

/** Returns the names in lists that are separated by spaces. */
const names = <List extends string>(...lists: List[]) => lists.join(' ').split(' ') as NameIn<List>[];
const texts = <List extends string>(...lists: List[]) => allOf(names(...lists), text);
const titleAndText = texts('title text');
const stored = allOf(names('kept left'), texts('text').extend({ steps: v.array(text) }));

/** Returns the condition that the text of an e-mail contains these placeholders, in every language. */
const containing = (...placeholders: string[]) =>
  [
    ({ message }: { message: { text: string } }) => placeholders.every((each) => message.text.includes(each)),
    `needs ${placeholders.join(' and ')} in the text of its message`,
  ] as const;

const links = v.array(texts('label href'));
const choice = text.assert((given) => given !== '', 'must not be empty');
const choices = v.array(choice).assert(({ length }) => length > 0, 'needs at least one');
const fieldWords = v.object({ label: text.optional(), hint: text.optional(), choices: choices.optional() });
const byField = v.record(fieldWords);
const byStatus = v
  .record(text)
  .assert(
    (given) => Object.keys(given).every((status) => /^[45]\d\d$/.test(status)),
    'takes statuses of errors alone, as 404',
  );

/** The comments in `content/words.yaml` explain each group. */
const schema = v.object({
  lang: languageTag,
  frame: texts('skip main all note markdown picture contact contractor developers').extend({
    header: links,
    footer: links,
    developerLinks: links,
  }),
  documentation: texts('contents language answer copy copied notCopied table'),
  flow: texts('title description no yes recipient').extend({
    steps: v.array(texts('title note')).assert(({ length }) => length === 5, 'must have five items'),
  }),
  contractor: contractorWords,
  sent: texts('at reference next contact copy copyNote print'),
  stored: texts('title').extend({ lead: stored, subscription: stored }),
  errors: texts('heading typed back again start').extend({ headings: byStatus, sentences: byStatus }),
  form: texts(
    'optional error summary filled contact sendAgain sending slow left over suggestion',
    'recipient handled consent privacy honeypot',
  ).extend({
    faults: texts('missing missingChoice consent notText characters email tooLong'),
    notices: allOf(names('limited unconfirmed unsent unavailable offline broken sent closed refused'), titleAndText),
  }),
  confirm: texts(
    'title only test asks gets purpose heading masked statement statementMeans until send sendNote change changeNote',
    'decline declineNote report reportNote codeHeading codeText mailCode mailAnother codeLabel codeHint check',
    'codeMailed anotherMailed newest mailedSoFar toCode wrong wrongLeft wrongLast hidden back reload reference',
    'service exactUntil',
  )
    .extend({
      changed: texts('title text open'),
      next: texts('answer back'),
      ends: allOf(names('executing submitted failed declined reported expired'), titleAndText),
      purposes: allOf(namesOf(forms), text),
      refused: allOf(namesOf(pressProblems), titleAndText),
      message: texts('subject text'),
    })
    .assert(...containing('{code}', '{page}')),
  card: texts('waiting check statement send decline open sending declining opening address').extend({
    ends: allOf(names('sent declined page pending expired used rejected failed reported retry none'), titleAndText),
  }),
  connect: texts(
    'title heading host name returns client byToken may each token tokenHint connect connectNote cancel cancelNote',
  ).extend({
    scopes: allOf(SCOPES, text),
    refused: allOf(namesOf(connectProblems), titleAndText),
  }),
  acknowledgement: texts('subject text'),
  newsletter: v
    .object({
      message: texts('subject text'),
      confirm: texts('title text button until'),
      confirmed: titleAndText,
      left: texts('title text again'),
      leave: texts('title text button'),
      leftNow: titleAndText,
      refused: allOf(namesOf(newsletterProblems), titleAndText),
    })
    .assert(...containing('{confirm_url}', '{leave_url}')),
  fields: byField,
  forms: allOf(namesOf(forms), byField.optional()),
});

export type Words = v.Infer<typeof schema>;

// An upgrade may replace this file under a running process.
const defaults = readFileSync(projectFile('content/words.yaml'), 'utf8');

/** Returns the default words. The first call parses them. */
export const defaultWords = once((): Words => {
  const purposes = Object.fromEntries(Object.values(forms).map(({ name, purpose }) => [name, purpose]));
  const fromCode = {
    confirm: { purposes, refused: pageWords(pressProblems) },
    connect: { refused: pageWords(connectProblems) },
    newsletter: { refused: pageWords(newsletterProblems) },
  };
  return schema.parse(merge(load(defaults), fromCode));
});

/**
 * Returns the default words, merged with the text of an operator's `words.yaml`.
 * @throws Error that says what is wrong with the text
 */
export function mergeWords(text: string): Words {
  // A file that contains only comments has no document.
  const [own, second] = loadAll(text);
  if (second !== undefined) throw new Error('it contains more than one document');
  const checked = checkShape(schema, merge(defaultWords(), own ?? {}));
  if (checked.kind === 'invalid') throw new Error(checked.why);
  const words = checked.value;
  const fieldNames = new Set(Object.values(forms).flatMap((form) => form.fields.map(({ name }) => name)));
  const named = [words.fields, ...Object.values(words.forms)].flatMap((each) => Object.keys(each ?? {}));
  const unknown = named.find((name) => !fieldNames.has(name));
  if (unknown !== undefined) throw new Error(`no form has a field ${unknown}`);
  return words;
}

/** Merges two objects name by name. Every other value, lists included, replaces the earlier value. */
function merge(before: unknown, after: unknown): unknown {
  if (!isObject(before) || !isObject(after)) return after;
  const merged = Object.entries(after).map(([name, value]) => [name, merge(before[name], value)]);
  return { ...before, ...Object.fromEntries(merged) };
}

/** Returns a form with the operator's labels, hints and choices. */
export function localizedForm(form: Form, words: Words): Form {
  const fields = form.fields.map((field) => localizedField(form, field, words));
  return fields.every((field, index) => field === form.fields[index]) ? form : { ...form, fields };
}

function localizedField(form: Form, field: Field, words: Words): Field {
  const given = { ...words.fields[field.name], ...words.forms[form.name]?.[field.name] };
  if (Object.keys(given).length === 0) return field;
  const { hint: _, ...declared } = field;
  const { label = field.label, hint = field.hint, choices = field.choices } = given;
  // An empty hint removes the default one.
  return { ...declared, label, ...(hint && { hint }), ...(choices && { choices }) };
}
