/** Parses a page of `content/` or CONTENT_DIR: front matter in YAML, then Markdown. */
import * as v from '@badrap/valita';
import { load } from 'js-yaml';
import { type Form, findForm } from '../forms/catalog.ts';
import { checkShape } from '../settings/shape.ts';
import { languageTag } from './words.ts';

const FRONT_MATTER = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/;

const frontMatter = v.object({
  title: v.string(),
  description: v.string(),
  /** Position among the pages, from 1. */
  order: v.number().assert(Number.isFinite, 'must be a number'),
  noindex: v.boolean().optional(() => false),
  /** True if the text under a heading of the third level is folded until a person opens it. */
  folds: v.boolean().optional(() => false),
  /**
   * Title and description of the thank-you page, by the name of the sent form. The text of the page has parts with the
   * same names.
   */
  after: v
    .record(v.object({ title: v.string(), description: v.string() }))
    .assert((given) => Object.keys(given).every(findForm), 'takes names of forms alone')
    .optional(() => ({})),
  /** Language of the page (default: language of the words). */
  lang: languageTag.optional(),
  /** True if the page lists its headings at the side. */
  contents: v.boolean().optional(() => false),
  /** Links under the title, the most important first. */
  actions: v.array(v.object({ label: v.string(), href: v.string() })).optional(() => []),
  form: v.string().optional(),
  /** Required with a form: the text of its button, and the purpose of the data, such as "to prepare your quote". */
  submit: v.string().optional(),
  use: v.string().optional(),
});

export type Content = Omit<v.Infer<typeof frontMatter>, 'form' | 'submit' | 'use'> & {
  /** The form on the page. */
  carried: { form: Form; submit: string; use: string } | undefined;
  body: string;
};

/** Parses a page. Throws if the page is invalid, which stops the start. */
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
