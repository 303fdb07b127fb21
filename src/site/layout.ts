/** Renders the frame of every page: head, header, main, footer. */
import { once } from '../platform/lazy.ts';
import { type PagePaths, pages, routes } from '../routes.ts';
import { type Assets, defaultAssets, documentationRules, escapeInline, sentScript, sizeOfPng } from './assets.ts';
import { directionOf, languageMark } from './interpolate.ts';
import type { SiteSettings } from './placeholders.ts';
import { renderTemplate } from './templates.ts';
import { defaultWords, type Words } from './words.ts';

/** The common part of all pages of a deployment. */
export type Frame = {
  words: Words;
  stylesheetPath: string;
  /** Style rules for an inline element. */
  rules: string;
  scriptPath: string;
  scrollScriptPath: string;
  timesScriptPath: string;
  iconPath: string;
  iconType: string;
  touchIconPath: string | undefined;
  /** Photo of the contractor. */
  photoPath: string | undefined;
  /** Colours for the bars of the browser. */
  themeColors: { light: string; dark: string } | undefined;
  /** Picture beside links in messengers. */
  picture: { path: string; width: number; height: number };
};

type Layout = {
  /** Title of the page, without the operator's name. */
  title: string;
  operatorName: string;
  /** Content of the page between header and footer, as HTML. */
  main: string;
  noindex: boolean;
  /** True for a page about one person's request, which needs no links for developers. */
  isPersonal?: boolean;
  hasForm?: boolean;
  /** True if the page is rendered once and sent compressed. */
  isPrepared?: boolean;
  /** True for the thank-you page. */
  thanks?: boolean;
  /** Language of the page (default: language of the words). */
  lang?: string | undefined;
  /** Data for the head. An error page has none. */
  page?: ReturnType<typeof headOf>;
};

type DescribedPage = PagePaths & { title: string; description: string; lang: string };

/** Returns the data for the head of a page. */
export function headOf(page: DescribedPage, settings: SiteSettings, { picture }: Frame) {
  const { path, markdownPath, description } = page;
  return {
    path,
    markdownPath,
    description,
    canonical: settings.baseUrl + path,
    picture: settings.baseUrl + picture.path,
    structuredData: structuredData(settings, page),
  };
}

/** Returns the data of schema.org as JSON-LD, which no browser executes. */
function structuredData(settings: SiteSettings, page: DescribedPage): string {
  const { baseUrl, operator } = settings;
  const start = baseUrl + routes.startPage.path;
  const organization = `${start}#operator`;
  const website = `${start}#website`;
  const { name, contact } = operator;
  const reachable = contact !== undefined && (contact.includes('@') ? { email: contact } : { telephone: contact });
  const graph = [
    { '@type': 'Organization', '@id': organization, name, url: start, ...reachable },
    { '@type': 'WebSite', '@id': website, name, url: start, publisher: { '@id': organization } },
    {
      '@type': page.path === pages.contact.path ? 'ContactPage' : 'WebPage',
      '@id': baseUrl + page.path,
      url: baseUrl + page.path,
      name: page.title,
      description: page.description,
      inLanguage: page.lang,
      isPartOf: { '@id': website },
    },
  ];
  // `<` would end the script element, or open a comment in it.
  return JSON.stringify({ '@context': 'https://schema.org', '@graph': graph }).replaceAll('<', '\\u003c');
}

/** Elements that may scroll inside the page (`markdown.ts`). */
const SCROLLS = /<pre|<div class="scroll"/;

/** Relative times (`relative-times.ts`). */
const TIMES = /<time /;

/** Elements that need the rules of documentation (`code.eta`, `contents.eta`). */
const DOCUMENTATION = /class="(?:code|contents)"/;

/** The frame without overrides. */
export const defaultFrame = once((): Frame => frameOf(defaultWords(), defaultAssets));

export function frameOf(words: Words, assets: Assets): Frame {
  const { stylesheet, script, scrollScript, timesScript, icon, touchIcon, photo, picture } = assets;
  return {
    words,
    stylesheetPath: stylesheet.path,
    rules: escapeInline(stylesheet.body),
    scriptPath: script.path,
    scrollScriptPath: scrollScript.path,
    timesScriptPath: timesScript.path,
    iconPath: icon.path,
    iconType: icon.contentType,
    touchIconPath: touchIcon?.path,
    photoPath: photo?.path,
    themeColors: themeColorsIn(stylesheet.body.toString()),
    picture: { path: picture.path, width: 0, height: 0, ...sizeOfPng(picture.body) },
  };
}

/** Returns the background in light and dark mode, or undefined if an operator's rules contain other backgrounds. */
function themeColorsIn(css: string): Frame['themeColors'] {
  const [light, dark, another] = [...css.matchAll(/--ground\s*:\s*([^;}]+)/g)].map(([, ground = '']) => ground.trim());
  return light && dark && another === undefined ? { light, dark } : undefined;
}

export function renderLayout(layout: Layout, frame: Frame = defaultFrame()): string {
  const lang = layout.lang ?? frame.words.lang;
  const { header, developerLinks } = frame.words.frame;
  const isForDevelopers = developerLinks.some(({ href }) => href === layout.page?.path);
  // A page has at most one script.
  const scrollScriptPath = !layout.thanks && SCROLLS.test(layout.main) ? frame.scrollScriptPath : undefined;
  const timesScriptPath = TIMES.test(layout.main) ? frame.timesScriptPath : undefined;
  return renderTemplate('layout', {
    ...layout,
    ...frame,
    // Inline rules make the first visit fast. A page for one person is not compressed and links its rules instead. The
    // address of such a page may contain a secret, so the browser sends only the origin as referrer.
    rules: layout.isPrepared ? frame.rules : undefined,
    documentationRules: DOCUMENTATION.test(layout.main) ? documentationRules : undefined,
    scriptPath: layout.hasForm ? frame.scriptPath : (scrollScriptPath ?? timesScriptPath),
    sentScript: layout.thanks ? sentScript : undefined,
    lang,
    isRightToLeft: directionOf(lang) === 'rtl',
    // Header and footer have the language of the words, which may differ from the page's language.
    frameLanguage: languageMark(frame.words.lang, lang),
    words: frame.words.frame,
    // A page for developers leads to the others. Homeowners should not see these links at the top.
    headerLinks: isForDevelopers ? developerLinks : header,
  });
}
