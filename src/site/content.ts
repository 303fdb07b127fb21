/** One file of `content/`: front matter in YAML, then Markdown. */
import * as v from '@badrap/valita';
import { load } from 'js-yaml';
import { type Form, findForm } from '../forms/catalog.ts';
import { checkShape } from '../settings/shape.ts';
import { languageTag } from './words.ts';

const FRONT_MATTER = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/;

const frontMatter = v.object({
  title: v.string(),
  description: v.string(),
  /** The first page to list is 1. */
  order: v.number().assert(Number.isFinite, 'must be a number'),
  noindex: v.boolean().optional(() => false),
  /** What stands under a heading of the third level is shown when the heading is pressed. */
  folds: v.boolean().optional(() => false),
  /** Of the page that thanks: what it says to who sent that form. Parts of its text are marked by the same name. */
  after: v
    .record(v.object({ title: v.string(), description: v.string() }))
    .assert((given) => Object.keys(given).every(findForm), 'takes names of forms alone')
    .optional(() => ({})),
  /** The language of the page, where it is not that of the words. */
  lang: languageTag.optional(),
  /** Whether its headings are listed at its side. */
  contents: v.boolean().optional(() => false),
  /** The links under the title, the weightiest first. */
  actions: v.array(v.object({ label: v.string(), href: v.string() })).optional(() => []),
  form: v.string().optional(),
  /** With a form: what its button says, and what the data are for, as in "to prepare your quote". */
  submit: v.string().optional(),
  use: v.string().optional(),
});

/** What a page says of the form that it carries. */
type CarriedForm = { form: Form; submit: string; use: string };

export type Content = Omit<v.Infer<typeof frontMatter>, 'form' | 'submit' | 'use'> & {
  carried: CarriedForm | undefined;
  body: string;
};

/** Takes a file's name and text; returns its parts, or throws: a page that is wrong stops the start. */
export function parseContent(file: string, text: string): Content {
  const [, head, body] = FRONT_MATTER.exec(text.replaceAll('\r\n', '\n')) ?? [];
  if (head === undefined || body === undefined) throw new Error(`${file} has no front matter`);
  const checked = checkShape(frontMatter, load(head));
  if (checked.kind === 'invalid') throw new Error(`${file}: ${checked.why}`);
  const { form: name, submit, use, ...rest } = checked.value;
  if (name === undefined) return { ...rest, carried: undefined, body: body.trim() };
  const form = findForm(name);
  if (form === undefined) throw new Error(`${file} names a form that the catalogue does not hold`);
  if (submit === undefined || use === undefined) throw new Error(`${file} needs submit and use`);
  return { ...rest, carried: { form, submit, use }, body: body.trim() };
}
