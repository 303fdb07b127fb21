/** One file of `content/`: front matter in YAML, then Markdown. */
import { parse } from 'yaml';
import { z } from 'zod';
import { type Form, findForm } from '../forms/catalog.ts';
import { languageTag, sentenceOf } from './words.ts';

const FRONT_MATTER = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/;

const frontMatter = z.strictObject({
  title: z.string(),
  description: z.string(),
  /** The first page to list is 1. */
  order: z.number(),
  noindex: z.boolean().default(false),
  /** The language of the page, where it is not that of the words. */
  lang: languageTag.optional(),
  /** The links under the title, the weightiest first. */
  actions: z.array(z.strictObject({ label: z.string(), href: z.string() })).default([]),
  form: z.string().optional(),
  /** With a form: what its button says, and what the data are for, as in "to prepare your quote". */
  submit: z.string().optional(),
  use: z.string().optional(),
});

/** What a page says of the form that it carries. */
export type CarriedForm = { form: Form; submit: string; use: string };

export type Content = Omit<z.infer<typeof frontMatter>, 'form' | 'submit' | 'use'> & {
  carried: CarriedForm | undefined;
  body: string;
};

/** Takes a file's name and text; returns its parts, or throws: a page that is wrong stops the start. */
export function parseContent(file: string, text: string): Content {
  const [, head, body] = FRONT_MATTER.exec(text.replaceAll('\r\n', '\n')) ?? [];
  if (head === undefined || body === undefined) throw new Error(`${file} has no front matter`);
  const parsed = frontMatter.safeParse(parse(head));
  if (!parsed.success) throw new Error(`${file}: ${sentenceOf(parsed.error)}`);
  const { form: name, submit, use, ...rest } = parsed.data;
  if (name === undefined) return { ...rest, carried: undefined, body: body.trim() };
  const form = findForm(name);
  if (form === undefined) throw new Error(`${file} names a form that the catalogue does not hold`);
  if (submit === undefined || use === undefined) throw new Error(`${file} needs submit and use`);
  return { ...rest, carried: { form, submit, use }, body: body.trim() };
}
