/** The pages people see and their mirrors: one for each file of `content/`. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { type Form, forms } from '../forms/catalog.ts';
import { once } from '../once.ts';
import { type PagePaths, pages, pathsOfPage, routes } from '../routes.ts';
import { receiverOf } from '../submissions/recipient.ts';
import { withAnswers } from './answers.ts';
import { takesForm } from './configured.ts';
import { type Content, parseContent } from './content.ts';
import { renderContents } from './contents.ts';
import { contractorCard } from './contractor.ts';
import { languageMark } from './direction.ts';
import { folded } from './folds.ts';
import { closedMarkup, type Entered, formMarkup } from './form-markup.ts';
import { type Frame, headOf, ourFrame, renderLayout } from './layout.ts';
import { renderDocument } from './markdown.ts';
import { renderMirror } from './markdown-mirror.ts';
import { naming, noOverlay, type Overlay } from './overlay.ts';
import { contractorName, partsOf, placeholderFiller, type SiteSettings } from './placeholders.ts';
import { renderTemplate } from './templates.ts';
import { type Thanks, thanksMarkup } from './thanks.ts';
import { type Words, wordedForm } from './words.ts';

export type Page = PagePaths & {
  title: string;
  description: string;
  noindex: boolean;
  form: Form | undefined;
  /** The body of the mirror, made when it is asked for. */
  readonly markdown: string;
  /** The whole page, rendered when it is asked for. */
  readonly html: string;
  /** The same page with what someone entered kept, and a sentence at each fault. */
  renderRefused(entered: Entered): string;
  /** Of the page that thanks: what it is for who sent that form. */
  thanks: readonly Thanks[];
};

const folder = new URL('../../content/', import.meta.url);
const ENDING = '.md';

/** The names of our pages and of an operator's own, as `quote`. */
export function pageNames({ pages }: Pick<Overlay, 'pages'> = noOverlay): string[] {
  const ours = readdirSync(folder).filter((file) => file.endsWith(ENDING));
  return [...new Set([...ours, ...pages.keys()])].map((file) => file.slice(0, -ENDING.length));
}

/** Takes what the settings say and what the operator lays over ours; returns the pages in order. */
export function loadPages(
  settings: SiteSettings,
  overlay: Overlay = noOverlay,
  frame: Frame = ourFrame(),
): Page[] {
  return pageNames(overlay)
    .map((name) => {
      const file = `${name}${ENDING}`;
      const own = overlay.pages.get(file);
      return naming(own === undefined ? `content/${file}` : `CONTENT_DIR: ${file}`, () => {
        const content = parseContent(file, own ?? readOurs(file));
        // Ours are in English, whatever words stand around them.
        const around = own === undefined ? ourFrame() : frame;
        const lang = content.lang ?? around.words.lang;
        if (own !== undefined) checkForm(content, file);
        const { documentation } = around.words;
        const page = pageOf(name, { ...content, lang, documentation }, settings, frame);
        // What is wrong with an operator's own, on whatever page, stops the start.
        if (overlay !== noOverlay) {
          void [page.html, page.markdown, ...page.thanks.map(({ html }) => html)];
        }
        return { order: content.order, page };
      });
    })
    .sort((one, other) => one.order - other.order)
    .map(({ page }) => page);
}

function readOurs(file: string): string {
  return readFileSync(new URL(file, folder), 'utf8');
}

/** Who puts a page of their own in the place of ours keeps its form: one that is refused is shown again on that page. */
function checkForm({ carried }: Content, file: string): void {
  if (!existsSync(new URL(file, folder))) return;
  const form = parseContent('ours', readOurs(file)).carried?.form;
  if (form !== undefined && carried?.form !== form) throw new Error(`needs form: ${form.name}`);
}

function pageOf(
  name: string,
  content: Content & { lang: string } & Pick<Words, 'documentation'>,
  settings: SiteSettings,
  frame: Frame,
): Page {
  const fill = placeholderFiller(settings, frame.words, content.lang);
  const { lang, carried, noindex, actions } = content;
  const title = fill(content.title, 'text');
  const description = fill(content.description, 'text');
  const body = withAnswers(partsOf(content.body, settings), settings);
  const about = { ...pathsOfPage(name), title, description };
  const form = carried && wordedForm(carried.form, frame.words);
  const names = {
    contractor: contractorName(settings, frame.words),
    operator: settings.operator.name,
  };
  const recipient = carried === undefined ? '' : receiverOf(carried.form, names);
  const context = {
    recipient,
    contact: settings.operator.contact,
    lang: frame.words.lang,
    words: frame.words.form,
    languageMark: languageMark(frame.words.lang, lang),
  };
  const head = headOf({ ...about, lang }, settings, frame);
  const proseOf = (markdown: string) => {
    const words = content.documentation;
    const { html, headings } = renderDocument(markdown, { words, links: content.contents });
    const isListed = content.contents && headings.length > 0;
    const contents = isListed ? renderContents(headings, words) : '';
    return {
      html: fill(content.folds ? folded(html) : html, 'html'),
      contents: fill(contents, 'html'),
    };
  };
  const prose = once(() => proseOf(body));
  const cardOf = (isSent: boolean) =>
    contractorCard(frame.words.contractor, {
      ...names,
      isSent,
      languageMark: context.languageMark,
    });
  const showsContractor = about.path === routes.startPage.path || form?.receivedBy === 'contractor';
  const around = { operatorName: settings.operator.name, noindex, lang, page: head };
  const render = (entered?: Entered) => {
    // What was typed before it could not be taken any more comes back all the same.
    const isOpen = entered !== undefined || form === undefined || takesForm(settings, form);
    const layout = {
      ...around,
      title: entered === undefined ? title : `${frame.words.form.error} ${title}`,
      hasForm: form !== undefined && isOpen,
      isPrepared: entered === undefined,
      main: renderTemplate('page', {
        name,
        title,
        description,
        actions,
        card: showsContractor ? cardOf(false) : undefined,
        form:
          form &&
          (isOpen
            ? formMarkup(form, { ...carried, ...context, ...entered })
            : closedMarkup(context)),
        contents: prose().contents,
        prose: prose().html,
      }),
    };
    return renderLayout(layout, frame);
  };
  const renderThanks = (sent?: Form) => {
    const after = sent && content.after[sent.name];
    const texts = {
      title: after === undefined ? title : fill(after.title, 'text'),
      description: after === undefined ? description : fill(after.description, 'text'),
      prose: proseOf(partsOf(content.body, settings, sent)).html,
    };
    const card = sent?.receivedBy === 'contractor' ? cardOf(true) : undefined;
    const main = thanksMarkup({ ...texts, name, actions, card, words: frame.words.sent });
    const layout = { ...around, title: texts.title, main, thanks: true, isPrepared: true };
    return renderLayout(layout, frame);
  };
  const isThanks = about.path === pages.thankYou.path;
  const thanked = Object.values(forms).filter(
    (each) => isThanks && Object.hasOwn(content.after, each.name),
  );
  return {
    ...about,
    noindex,
    form: carried?.form,
    get markdown() {
      return renderMirror({
        title: fill(content.title, 'markdown'),
        description: fill(content.description, 'markdown'),
        body: fill(body, 'markdown'),
        form: form && { form, destination: recipient },
        baseUrl: settings.baseUrl,
      });
    },
    get html() {
      return isThanks ? renderThanks() : render();
    },
    thanks: thanked.map((sent) => ({
      form: sent,
      get html() {
        return renderThanks(sent);
      },
    })),
    renderRefused: render,
  };
}
