/** The files that pages link to, under names that change with their content. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export type Asset = { path: string; contentType: string; body: Buffer };

const stylesheet = readAsset('site', 'css', 'text/css; charset=utf-8');
const icon = readAsset('icon', 'svg', 'image/svg+xml');

/** Every asset of the site, read at start; each may be kept for ever under its path. */
export const assets: readonly Asset[] = [stylesheet, icon];

/** Where the layout links them. */
export const stylesheetPath = stylesheet.path;
export const iconPath = icon.path;

function readAsset(name: string, extension: string, contentType: string): Asset {
  const body = readFileSync(new URL(`assets/${name}.${extension}`, import.meta.url));
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 12);
  return { path: `/assets/${name}-${hash}.${extension}`, contentType, body };
}
