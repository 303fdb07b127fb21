/** The site of a deployment: pages, assets and frame, with the operator's overrides. */
import { type Form, forms } from '../forms/catalog.ts';
import { once } from '../platform/lazy.ts';
import { type Asset, cspSource, documentationRules, escapeInline, overrideAssets, sentScript } from './assets.ts';
import { noOverrides, pageNames, readContentOverrides } from './content-overrides.ts';
import { type Frame, frameOf } from './layout.ts';
import type { Page } from './pages.ts';
import type { SiteSettings } from './placeholders.ts';
import { localizedForm } from './words.ts';

export type Site = {
  pageNames: readonly string[];
  /** Returns the pages. The pages are loaded for the first request of a page, or at the start if CONTENT_DIR is set. */
  pages(): Promise<readonly Page[]>;
  assets: readonly Asset[];
  /** Sources of inline styles and scripts for the content security policy. */
  inline: { styles: readonly string[]; scripts: readonly string[] };
  frame(): Frame;
  /** The forms with the operator's labels, hints and choices. */
  forms: readonly Form[];
};

/**
 * Returns the site of these settings.
 * @throws ContentFault about CONTENT_DIR
 */
export async function openSite(settings: SiteSettings & { contentDir: string | undefined }): Promise<Site> {
  const overrides = readContentOverrides(settings.contentDir);
  const assets = overrideAssets(overrides);
  const frame = once(() => frameOf(overrides.words, assets));
  const pages = once(async () => {
    const { loadPages } = await import('./pages.ts');
    return loadPages(settings, overrides, frame());
  });
  // An error in CONTENT_DIR stops the start.
  if (overrides !== noOverrides) await pages();
  const catalogue = Object.values(forms);
  return {
    pageNames: pageNames(overrides),
    pages,
    assets: Object.values(assets),
    inline: {
      styles: [escapeInline(assets.stylesheet.body), documentationRules].map(cspSource),
      scripts: [cspSource(sentScript)],
    },
    frame,
    // The default words do not change any form, so they are not parsed here.
    forms: overrides === noOverrides ? catalogue : catalogue.map((form) => localizedForm(form, overrides.words)),
  };
}
