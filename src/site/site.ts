/**
 * The site of a deployment: its pages, its assets and its frame, with the operator's own laid over them.
 * What stands in ours is read when it is first asked for, or when the start is over.
 */
import { type Form, forms } from '../forms/catalog.ts';
import { once } from '../once.ts';
import {
  type Asset,
  documentationRules,
  inlined,
  layAssets,
  sentScript,
  sourceOf,
} from './assets.ts';
import { type Frame, frameOf } from './layout.ts';
import { noOverlay, readOverlay } from './overlay.ts';
import { loadPages, type Page, pageNames } from './pages.ts';
import type { SiteSettings } from './placeholders.ts';
import { loadTemplates } from './templates.ts';
import { wordedForm } from './words.ts';

export type Site = {
  pageNames: readonly string[];
  pages(): readonly Page[];
  assets: readonly Asset[];
  /** What the content security policy allows to stand in pages. */
  inline: { styles: readonly string[]; scripts: readonly string[] };
  frame(): Frame;
  /** As people are asked here. */
  forms: readonly Form[];
  /** Loads what the page of an error is made with: words and templates. */
  prepare(): void;
};

/** Takes the settings; returns the site, or throws a `ContentFault` about CONTENT_DIR. */
export function openSite(settings: SiteSettings & { contentDir: string | undefined }): Site {
  const overlay = readOverlay(settings.contentDir);
  const assets = layAssets(overlay);
  const frame = once(() => frameOf(overlay.words, assets));
  const pages = once(() => loadPages(settings, overlay, frame()));
  const prepare = () => {
    frame();
    loadTemplates();
  };
  const site = {
    pageNames: pageNames(overlay),
    pages,
    assets: Object.values(assets),
    inline: {
      styles: [inlined(assets.stylesheet.body), documentationRules].map(sourceOf),
      scripts: [sourceOf(sentScript)],
    },
    frame,
    prepare,
  };
  // Our own words say nothing of fields: what those are called stands in the catalogue.
  if (overlay === noOverlay) return { ...site, forms: Object.values(forms) };
  // What is wrong with an operator's own stops the start.
  pages();
  return { ...site, forms: Object.values(forms).map((form) => wordedForm(form, overlay.words)) };
}
