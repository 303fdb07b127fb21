/** The frame around every page: head, header, main, footer. */
import { once } from '../once.ts';
import {
  type Assets,
  documentationRules,
  inlined,
  ourAssets,
  sentScript,
  sizeOfPng,
} from './assets.ts';
import { directionOf, languageMark } from './direction.ts';
import type { SiteSettings } from './placeholders.ts';
import { type DescribedPage, structuredData } from './structured-data.ts';
import { renderTemplate } from './templates.ts';
import { ourWords, type Words } from './words.ts';

/** What is the same around every page of a deployment. */
export type Frame = {
  words: Words;
  stylesheetPath: string;
  /** The rules themselves, as an element of the page has them. */
  rules: string;
  scriptPath: string;
  scrollScriptPath: string;
  iconPath: string;
  iconType: string;
  touchIconPath: string | undefined;
  /** What a browser colours its own bars with. */
  themeColors: { light: string; dark: string } | undefined;
  /** For messages that link to a page. */
  picture: { path: string; width: number; height: number };
};

type Layout = {
  /** Of the page alone; the operator's name is added. */
  title: string;
  operatorName: string;
  /** HTML. */
  main: string;
  noindex: boolean;
  hasForm?: boolean;
  /** It is made once, and sent compressed. */
  isPrepared?: boolean;
  /** It is the page that thanks. */
  thanks?: boolean;
  /** Of the words, where the page names no other. */
  lang?: string | undefined;
  /** What only a page of the site has, an error page has not. */
  page?: ReturnType<typeof headOf>;
};

/** What the head of a page says of it alone, with the frame's picture for messages that link to it. */
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

/** What may scroll by itself (`markdown.ts`). */
const SCROLLS = /<pre|<div class="scroll"/;

/** What the rules of documentation are of (`code.eta`, `contents.eta`). */
const DOCUMENTATION = /class="(?:code|contents)"/;

/** The frame without anything of an operator's own. */
export const ourFrame = once((): Frame => frameOf(ourWords(), ourAssets));

/** Takes the words and the assets; returns the frame that shows and links them. */
export function frameOf(words: Words, assets: Assets): Frame {
  const { stylesheet, script, scrollScript, icon, touchIcon, picture } = assets;
  return {
    words,
    stylesheetPath: stylesheet.path,
    rules: inlined(stylesheet.body),
    scriptPath: script.path,
    scrollScriptPath: scrollScript.path,
    iconPath: icon.path,
    iconType: icon.contentType,
    touchIconPath: touchIcon?.path,
    themeColors: themeColorsIn(stylesheet.body.toString()),
    picture: { path: picture.path, width: 0, height: 0, ...sizeOfPng(picture.body) },
  };
}

/** The ground of a page in light and dark; undefined where an operator's own rules name others. */
function themeColorsIn(css: string): Frame['themeColors'] {
  const grounds = [...css.matchAll(/--ground\s*:\s*([^;}]+)/g)].map(([, ground = '']) =>
    ground.trim(),
  );
  const [light, dark, another] = grounds;
  if (light === undefined || dark === undefined || another !== undefined) return undefined;
  return { light, dark };
}

/** Takes the parts of a page; returns the whole HTML document. */
export function renderLayout(layout: Layout, frame: Frame = ourFrame()): string {
  const lang = layout.lang ?? frame.words.lang;
  const words = frame.words.frame;
  // A page of ours, or of another language, stands between a header and a footer of the words' own.
  const frameLanguage = languageMark(frame.words.lang, lang);
  // A page has at most one script.
  const scriptPath = layout.hasForm
    ? frame.scriptPath
    : !layout.thanks && SCROLLS.test(layout.main)
      ? frame.scrollScriptPath
      : undefined;
  return renderTemplate('layout', {
    ...layout,
    ...frame,
    // Who comes for the first time waits for nothing else; what is made for one person is not compressed.
    rules: layout.isPrepared ? frame.rules : undefined,
    documentationRules: DOCUMENTATION.test(layout.main) ? documentationRules : undefined,
    scriptPath,
    sentScript: layout.thanks ? sentScript : undefined,
    lang,
    isRightToLeft: directionOf(lang) === 'rtl',
    frameLanguage,
    words,
  });
}
