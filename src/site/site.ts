/** The site of a deployment: its pages, its assets and its frame, with the operator's own laid over. */
import { type Asset, layAssets } from './assets.ts';
import { type Frame, frameOf } from './layout.ts';
import { readOverlay } from './overlay.ts';
import { loadPages, type Page } from './pages.ts';
import type { SiteSettings } from './placeholders.ts';

export type Site = { pages: Page[]; assets: Asset[]; frame: Frame };

/** Takes the settings; returns the site, or throws a `ContentFault` about CONTENT_DIR. */
export async function openSite(
  settings: SiteSettings & { contentDir: string | undefined },
): Promise<Site> {
  const overlay = readOverlay(settings.contentDir);
  const assets = layAssets(overlay);
  const frame = frameOf(overlay.words, assets);
  return { pages: await loadPages(settings, overlay, frame), assets, frame };
}
