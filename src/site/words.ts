/**
 * The words of the site that stand in no page: ours, from `content/words.yaml`, with an operator's
 * own laid over them (CONTENT_DIR). Whatever a translation leaves out stays English.
 */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { type Field, type Form, type FormName, forms } from '../forms/catalog.ts';
import { type FormWords, ourFormWords } from './form-words.ts';

/** BCP 47. */
export const languageTag = z.string().refine(isLanguageTag, 'is no language tag');

function isLanguageTag(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length === 1;
  } catch {
    return false;
  }
}

/** Every object of the site's words takes only what ours has: a misspelt name is a fault. */
const links = z.array(z.strictObject({ label: z.string(), href: z.string() }));
const fieldWords = z.strictObject({
  label: z.string().optional(),
  hint: z.string().optional(),
  choices: z.array(z.string().min(1)).min(1).optional(),
});
const byStatus = z.record(z.string().regex(/^[45]\d\d$/, 'is no status of an error'), z.string());
const byField = z.record(z.string(), fieldWords);

const schema = z.strictObject({
  lang: languageTag,
  frame: z.strictObject({
    skip: z.string(),
    main: z.string(),
    all: z.string(),
    note: z.string(),
    markdown: z.string(),
    /** What the picture shows that stands beside a link to a page. */
    picture: z.string(),
    /** What `{{contact}}` says where no OPERATOR_CONTACT is set. */
    contact: z.string(),
    header: links,
    footer: links,
  }),
  flow: z.strictObject({
    title: z.string(),
    description: z.string(),
    steps: z.array(z.strictObject({ title: z.string(), note: z.string() })).length(5),
    no: z.string(),
    yes: z.string(),
    recipient: z.string(),
  }),
  /** The pages of errors; by status, what is not said there is said in `heading` and the catalogue. */
  errors: z.strictObject({
    heading: z.string(),
    headings: byStatus,
    sentences: byStatus,
    typed: z.string(),
    back: z.string(),
    start: z.string(),
  }),
  /** What forms say when something is wrong: the sentences of `form-words.ts`. */
  form: sameShape(ourFormWords) as z.ZodType<FormWords>,
  fields: byField,
  forms: z.partialRecord(z.enum(Object.keys(forms) as [FormName, ...FormName[]]), byField),
});

export type Words = z.infer<typeof schema>;

/** The words as they come with the service. */
export const ourWords: Words = schema.parse({
  ...parse(readFileSync(new URL('../../content/words.yaml', import.meta.url), 'utf8')),
  form: ourFormWords,
});

/** Words under the same names, however deep. */
function sameShape(words: object): z.ZodType {
  const shapes = Object.entries(words).map(([name, value]) => [
    name,
    typeof value === 'object' ? sameShape(value) : z.string(),
  ]);
  return z.strictObject(Object.fromEntries(shapes));
}

/** Takes the text of an operator's `words.yaml`; returns ours under it, or throws what is wrong. */
export function layWords(text: string): Words {
  const words = schema.safeParse(lay(ourWords, parse(text) ?? {}));
  if (!words.success) throw new Error(sentenceOf(words.error));
  const known = new Set(
    Object.values(forms).flatMap((form) => form.fields.map(({ name }) => name)),
  );
  for (const named of [words.data.fields, ...Object.values(words.data.forms)]) {
    const stranger = Object.keys(named).find((name) => !known.has(name));
    if (stranger !== undefined) throw new Error(`no form has a field ${stranger}`);
  }
  return words.data;
}

/** Objects are laid over each other name by name; everything else, lists included, is replaced. */
function lay(under: unknown, over: unknown): unknown {
  if (!isObject(under) || !isObject(over)) return over;
  const names = [...new Set([...Object.keys(under), ...Object.keys(over)])];
  return Object.fromEntries(
    names.map((name) => [
      name,
      Object.hasOwn(over, name) ? lay(under[name], over[name]) : under[name],
    ]),
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One line about the first thing that is wrong. */
export function sentenceOf(error: z.ZodError): string {
  const [issue] = error.issues;
  const at = issue?.path.join('.') ?? '';
  return at === '' ? `${issue?.message}` : `${at}: ${issue?.message}`;
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
