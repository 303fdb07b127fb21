/** The pages people see and their mirrors: one for each file of `content/`, rendered once at start. */
import { readdir, readFile } from 'node:fs/promises';
import { type Form, forms } from '../forms/catalog.ts';
import { type CarriedForm, type Content, parseContent } from './content.ts';
import { type Entered, formMarkup } from './form-markup.ts';
import { type Frame, ourFrame, renderLayout } from './layout.ts';
import { renderMarkdown } from './markdown.ts';
import { renderMirror } from './mirror.ts';
import { ContentFault, naming, noOverlay, type Overlay } from './overlay.ts';
import { contractorName, placeholderFiller, type SiteSettings } from './placeholders.ts';
import { structuredData } from './structured-data.ts';
import { renderTemplate } from './templates.ts';
import { wordedForm } from './words.ts';

export type Page = {
  path: string;
  markdownPath: string;
  title: string;
  description: string;
  noindex: boolean;
  form: Form | undefined;
  /** The body of the mirror. */
  markdown: string;
  /** The whole rendered page. */
  html: string;
  /** The same page with what someone entered kept, and a sentence at each fault. */
  renderRefused(entered: Entered): string;
};

const folder = new URL('../../content/', import.meta.url);

/** Takes what the settings say and what the operator lays over ours; returns the pages in order. */
export async function loadPages(
  settings: SiteSettings,
  overlay: Overlay = noOverlay,
  frame: Frame = ourFrame,
): Promise<Page[]> {
  const ours = (await readdir(folder)).filter((file) => file.endsWith('.md'));
  const texts = new Map<string, string>();
  for (const file of ours) texts.set(file, await readFile(new URL(file, folder), 'utf8'));
  for (const [file, text] of overlay.pages) texts.set(file, text);
  const pages = [...texts].map(([file, text]) =>
    naming(overlay.pages.has(file) ? `CONTENT_DIR: ${file}` : `content/${file}`, () => {
      const content = parseContent(file, text);
      const page = pageOf(file.slice(0, -'.md'.length), content, settings, frame);
      return { order: content.order, page };
    }),
  );
  const sorted = pages.sort((one, other) => one.order - other.order).map(({ page }) => page);
  checkForms(sorted);
  return sorted;
}

/** A refused form comes back as its page: each has to be where the catalogue says. */
function checkForms(pages: readonly Page[]): void {
  for (const form of Object.values(forms)) {
    const carrier = pages.find(({ path }) => path === form.page);
    if (carrier !== undefined && carrier.form !== form) {
      throw new ContentFault(
        `CONTENT_DIR: ${carrier.markdownPath.slice(1)} must carry the form ${form.name}.`,
      );
    }
  }
}

function pageOf(name: string, content: Content, settings: SiteSettings, frame: Frame): Page {
  const fill = placeholderFiller(settings, frame.words);
  const path = name === 'index' ? '/' : `/${name}`;
  const markdownPath = `/${name}.md`;
  const title = fill(content.title, 'text');
  const description = fill(content.description, 'text');
  const lang = content.lang ?? frame.words.lang;
  const { carried } = content;
  const form = carried && wordedForm(carried.form, frame.words);
  const recipient = carried === undefined ? '' : recipientOf(carried, settings);
  const context = { recipient, contact: settings.operator.contact, lang, words: frame.words.form };
  const prose = fill(renderMarkdown(content.body), 'html');
  const head = {
    path,
    canonical: `${settings.baseUrl}${path}`,
    description,
    markdownPath,
    structuredData: structuredData(settings, { path, title, description, lang }),
  };
  const render = (entered?: Entered) => {
    const layout = {
      title: entered === undefined ? title : `${frame.words.form.error} ${title}`,
      operatorName: settings.operator.name,
      noindex: content.noindex,
      lang,
      hasForm: form !== undefined,
      page: head,
      main: renderTemplate('page', {
        name,
        title,
        description,
        actions: content.actions,
        form: form && formMarkup(form, { ...carried, ...context, ...entered }),
        prose,
      }),
    };
    return renderLayout(layout, frame);
  };
  return {
    path,
    markdownPath,
    title,
    description,
    noindex: content.noindex,
    form: carried?.form,
    markdown: renderMirror({
      title: fill(content.title, 'markdown'),
      description: fill(content.description, 'markdown'),
      body: fill(content.body, 'markdown'),
      form: form && { form, destination: recipient },
      baseUrl: settings.baseUrl,
    }),
    html: render(),
    renderRefused: render,
  };
}

function recipientOf({ form }: CarriedForm, settings: SiteSettings): string {
  return form.receivedBy === 'contractor' ? contractorName(settings) : settings.operator.name;
}
