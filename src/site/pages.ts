/** The pages people see and their mirrors: one for each file of `content/`, rendered once at start. */
import { readdir, readFile } from 'node:fs/promises';
import type { Form } from '../forms/catalog.ts';
import { type CarriedForm, type Content, parseContent } from './content.ts';
import { type Entered, formMarkup } from './form-markup.ts';
import { renderLayout } from './layout.ts';
import { renderMarkdown } from './markdown.ts';
import { renderMirror } from './mirror.ts';
import { contractorName, placeholderFiller, type SiteSettings } from './placeholders.ts';
import { renderTemplate } from './templates.ts';

export type Page = {
  path: string;
  markdownPath: string;
  title: string;
  description: string;
  form: Form | undefined;
  /** The body of the mirror. */
  markdown: string;
  /** The whole rendered page. */
  html: string;
  /** The same page with what someone entered kept, and a sentence at each fault. */
  renderRefused(entered: Entered): string;
};

const folder = new URL('../../content/', import.meta.url);

/** Takes what the settings say of the deployment; returns the pages in the order they name. */
export async function loadPages(settings: SiteSettings): Promise<Page[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.md'));
  const contents = await Promise.all(
    files.map(async (file) => {
      const content = parseContent(file, await readFile(new URL(file, folder), 'utf8'));
      return { name: file.slice(0, -'.md'.length), content };
    }),
  );
  return contents
    .sort((one, other) => one.content.order - other.content.order)
    .map(({ name, content }) => pageOf(name, content, settings));
}

function pageOf(name: string, content: Content, settings: SiteSettings): Page {
  const fill = placeholderFiller(settings);
  const path = name === 'index' ? '/' : `/${name}`;
  const markdownPath = `/${name}.md`;
  const title = fill(content.title, 'text');
  const description = fill(content.description, 'text');
  const { carried } = content;
  const recipient = carried === undefined ? '' : recipientOf(carried, settings);
  const prose = fill(renderMarkdown(content.body), 'html');
  const render = (entered: Entered) =>
    renderLayout({
      title: entered.errors === undefined ? title : `Error: ${title}`,
      operatorName: settings.operator.name,
      noindex: content.noindex,
      page: { path, canonical: `${settings.baseUrl}${path}`, description, markdownPath },
      main: renderTemplate('page', {
        name,
        title,
        description,
        actions: content.actions,
        form: carried && formMarkup(carried.form, { ...carried, recipient, ...entered }),
        prose,
      }),
    });
  return {
    path,
    markdownPath,
    title,
    description,
    form: carried?.form,
    markdown: renderMirror({
      title: fill(content.title, 'markdown'),
      description: fill(content.description, 'markdown'),
      body: fill(content.body, 'markdown'),
      form: carried && { form: carried.form, destination: recipient },
      baseUrl: settings.baseUrl,
    }),
    html: render({}),
    renderRefused: render,
  };
}

function recipientOf({ form }: CarriedForm, settings: SiteSettings): string {
  return form.receivedBy === 'contractor' ? contractorName(settings) : settings.operator.name;
}
