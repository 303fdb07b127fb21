/** Renders the pages and their mirrors: one page for each file of `content/` and CONTENT_DIR. */
import { existsSync, readFileSync } from 'node:fs';
import { type Form, forms } from '../forms/catalog.ts';
import { once } from '../platform/lazy.ts';
import { type PagePaths, pages, pathsOfPage, routes } from '../routes.ts';
import { receiverOf } from '../submissions/submission.ts';
import { type Content, parseContent } from './content.ts';
import {
  type ContentOverrides,
  defaultPages,
  noOverrides,
  PAGE_ENDING,
  pageNames,
  withFileName,
} from './content-overrides.ts';
import { renderContractorCard } from './contractor.ts';
import { fillInAnswers } from './example-answers.ts';
import { type Entered, renderClosedForm, renderForm } from './form-markup.ts';
import { icons } from './icons.ts';
import { languageMark } from './interpolate.ts';
import { defaultFrame, type Frame, headOf, renderLayout } from './layout.ts';
import { foldSections, renderContents, renderDocument } from './markdown.ts';
import { renderMirror } from './markdown-mirror.ts';
import { acceptsForm, contractorName, placeholderFiller, type SiteSettings, selectParts } from './placeholders.ts';
import { renderStored, type StoredKind } from './stored-page.ts';
import { renderTemplate } from './templates.ts';
import { localizedForm } from './words.ts';

export type Page = PagePaths & {
  title: string;
  description: string;
  noindex: boolean;
  form: Form | undefined;
  /** The Markdown mirror, rendered when it is read. */
  readonly markdown: string;
  /** The HTML document, rendered when it is read. */
  readonly html: string;
  /** Renders the page with the entered values, and a sentence at each invalid value. */
  renderRefused(entered: Entered): string;
  /** Renders the page about a submission of its form that is stored, but not confirmed. */
  renderStored(kind: StoredKind, reference: string | undefined): string;
  /**
   * Variants of the thank-you page by the path in `Referer`. All forms have the same `Location` (reference §4.7), so
   * only the browser knows which form was sent.
   */
  variantsByReferer: ReadonlyMap<string, { readonly html: string }> | undefined;
};

/** A file of `content/`, or of CONTENT_DIR (`isOwn`). `label` names it in errors. */
type Source = { name: string; label: string; isOwn: boolean; content: Content };

/** Returns the pages in their order. */
export function loadPages(
  settings: SiteSettings,
  overrides: ContentOverrides = noOverrides,
  frame: Frame = defaultFrame(),
): Page[] {
  const sources = pageNames(overrides).map((name): Source => {
    const file = `${name}${PAGE_ENDING}`;
    const own = overrides.pages.get(file);
    const label = own === undefined ? `content/${file}` : `CONTENT_DIR: ${file}`;
    const content = withFileName(label, () =>
      own === undefined ? parseContent(file, readOurs(file)) : parseOwn(file, own),
    );
    return { name, label, isOwn: own !== undefined, content };
  });
  sources.sort((one, other) => one.content.order - other.content.order);
  return sources.map((source) =>
    withFileName(source.label, () => {
      const page = pageOf(source, sources, settings, frame);
      // Renders everything, so that an error in CONTENT_DIR stops the start.
      const variants = [...(page.variantsByReferer?.values() ?? [])];
      if (overrides !== noOverrides) void [page.html, page.markdown, ...variants.map(({ html }) => html)];
      return page;
    }),
  );
}

function readOurs(file: string): string {
  return readFileSync(new URL(file, defaultPages), 'utf8');
}

/**
 * Parses a page of CONTENT_DIR. Throws if it replaces a default page that has another form, because a refused form is
 * shown on its page.
 */
function parseOwn(file: string, text: string): Content {
  const content = parseContent(file, text);
  if (!existsSync(new URL(file, defaultPages))) return content;
  const form = parseContent('ours', readOurs(file)).carried?.form;
  if (form !== undefined && content.carried?.form !== form) {
    throw new Error(`needs form: ${form.name}`);
  }
  return content;
}

function pageOf(
  { name, isOwn, content }: Source,
  sources: readonly Source[],
  settings: SiteSettings,
  frame: Frame,
): Page {
  const { carried, noindex, actions } = content;
  const { words } = frame;
  // The default pages are always in English.
  const around = (isOwn ? frame : defaultFrame()).words;
  const lang = content.lang ?? around.lang;
  const mark = languageMark(words.lang, lang);
  const fill = placeholderFiller(settings, words, lang);
  const title = fill(content.title, 'text');
  const description = fill(content.description, 'text');
  const about = { ...pathsOfPage(name), title, description };
  const form = carried && localizedForm(carried.form, words);
  const operator = settings.operator.name;
  const names = { contractor: contractorName(settings, words), operator };
  const recipient = carried === undefined ? '' : receiverOf(carried.form, names);
  const page = headOf({ ...about, lang }, settings, frame);

  const bodyFor = (sent?: Form) => fillInAnswers(selectParts(content.body, settings, sent), settings);
  const proseFor = (sent?: Form) => {
    const options = { words: around.documentation, links: content.contents };
    const { html, headings } = renderDocument(bodyFor(sent), options);
    const isListed = content.contents && headings.length > 0;
    const contents = isListed ? renderContents(headings, options.words) : '';
    return { prose: fill(content.folds ? foldSections(html) : html, 'html'), contents: fill(contents, 'html') };
  };
  const prose = once(proseFor);
  const cardParts = { ...names, facts: settings, photo: frame.photoPath, languageMark: mark };
  const cardOf = (isSent: boolean) => renderContractorCard(words.contractor, { ...cardParts, isSent });
  const layout = { operatorName: operator, noindex, lang, page };
  const storedContext = { recipient, operator: settings.operator, words, languageMark: mark };

  const render = (entered?: Entered) => {
    const showsCard = about.path === routes.startPage.path || form?.receivedBy === 'contractor';
    // A refused form is shown even if the service no longer accepts the form.
    const isOpen = entered !== undefined || form === undefined || acceptsForm(settings, form);
    const context = {
      recipient,
      contact: settings.operator.contact,
      lang: words.lang,
      words: words.form,
      languageMark: mark,
    };
    const stored = form && {
      kept: renderStored(form, 'kept', storedContext),
      left: renderStored(form, 'left', storedContext),
    };
    const openForm = form && carried && renderForm(form, { ...carried, ...context, ...entered, stored });
    const main = renderTemplate('page', {
      name,
      title,
      description,
      actions,
      card: showsCard ? cardOf(false) : undefined,
      form: isOpen ? openForm : renderClosedForm(context),
      ...prose(),
    });
    return renderLayout(
      {
        ...layout,
        title: entered === undefined ? title : `${words.form.error} ${title}`,
        hasForm: form !== undefined && isOpen,
        isPrepared: entered === undefined,
        main,
      },
      frame,
    );
  };
  const renderThanks = (sent?: Form) => {
    const after = sent && content.after[sent.name];
    const texts = {
      title: after === undefined ? title : fill(after.title, 'text'),
      description: after === undefined ? description : fill(after.description, 'text'),
    };
    const card = sent?.receivedBy === 'contractor' ? cardOf(true) : undefined;
    const { prose } = proseFor(sent);
    const main = renderTemplate('sent', { ...texts, name, actions, card, words: words.sent, prose, tick: icons.tick });
    return renderLayout({ ...layout, title: texts.title, main, thanks: true, isPrepared: true }, frame);
  };
  const isThanks = about.path === pages.thankYou.path;
  const thanked = Object.values(forms).filter((sent) => Object.hasOwn(content.after, sent.name));
  const variantsByReferer = thanked.flatMap((sent) => {
    const variant = {
      get html() {
        return renderThanks(sent);
      },
    };
    return pathsWith(sent, sources).map((path) => [path, variant] as const);
  });
  return {
    ...about,
    noindex,
    form: carried?.form,
    get markdown() {
      return renderMirror({
        title: fill(content.title, 'markdown'),
        description: fill(content.description, 'markdown'),
        body: fill(bodyFor(), 'markdown'),
        form: form && { form, destination: recipient },
        baseUrl: settings.baseUrl,
      });
    },
    get html() {
      return isThanks ? renderThanks() : render();
    },
    variantsByReferer: isThanks ? new Map(variantsByReferer) : undefined,
    renderRefused: render,
    renderStored(kind, reference) {
      const main = form === undefined ? '' : renderStored(form, kind, storedContext, reference);
      return renderLayout(
        { title: words.stored.title, operatorName: operator, main, noindex: true, isPersonal: true, lang },
        frame,
      );
    },
  };
}

/**
 * Returns the paths of the pages with a form. The list includes the path of the subscription route, because a refused
 * subscription's page has it.
 */
function pathsWith(form: Form, sources: readonly Source[]): string[] {
  const carriers = sources.filter(({ content }) => content.carried?.form === form);
  const paths = carriers.map(({ name }) => pathsOfPage(name).path);
  return form === forms.newsletter ? [...paths, routes.subscribeNewsletter.path] : paths;
}
