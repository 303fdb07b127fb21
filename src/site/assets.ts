/** The files that pages link to, under names that change with their content. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { pathTo, routes } from '../routes.ts';

export type Asset = { path: string; contentType: string; body: Buffer };

/** Every asset of the site, read at start; each may be kept for ever under its path. */
export const ourAssets = {
  stylesheet: readAsset('site', 'css', 'text/css; charset=utf-8', ['site.css', 'front.css']),
  // Two files, and one script: a page loads no second one.
  script: readAsset('form', 'js', 'text/javascript; charset=utf-8', ['form.js', 'hints.js']),
  /** Of a page with tables or commands, which has no form. */
  scrollScript: readAsset('scroll', 'js', 'text/javascript; charset=utf-8', [
    'scroll.js',
    'copy.js',
    'contents.js',
  ]),
  icon: readAsset('icon', 'svg', 'image/svg+xml'),
  /** For the start screen of a telephone, 180 × 180; whoever makes it a tile rounds its corners. */
  touchIcon: readAsset('apple-touch-icon', 'png', 'image/png'),
  /** What a message that links to a page shows of it (Open Graph). */
  picture: readAsset('opengraph', 'png', 'image/png'),
};

/** Of a page with code or contents, beside the others. */
export const documentationRules = inlined(rulesAlone(read('documentation.css')));

/** Of the page that thanks, which is not painted before it: it stands in that page. */
export const sentScript = inlined(read('sent.js'));

export type Assets = Omit<typeof ourAssets, 'touchIcon'> & { touchIcon?: Asset };

/** What an operator lays over ours (CONTENT_DIR). */
export type OwnAssets = {
  css: Buffer | undefined;
  logo: { extension: string; contentType: string; body: Buffer } | undefined;
  /** PNG. */
  picture: Buffer | undefined;
};

/** Takes an operator's own; returns every asset, their rules after ours, their pictures in place of ours. */
export function layAssets({ css, logo, picture }: OwnAssets): Assets {
  const assets: Assets = { ...ourAssets };
  if (css !== undefined) {
    const { contentType, body } = ourAssets.stylesheet;
    const both = Buffer.concat([body, Buffer.from('\n'), css]);
    assets.stylesheet = assetOf('site', 'css', contentType, both);
  }
  if (logo !== undefined) {
    const { extension, contentType, body } = logo;
    assets.icon = assetOf('icon', extension, contentType, body);
    delete assets.touchIcon;
    // A telephone takes no SVG.
    if (extension === 'png') {
      assets.touchIcon = assetOf('apple-touch-icon', extension, contentType, body);
    }
  }
  if (picture !== undefined) assets.picture = assetOf('opengraph', 'png', 'image/png', picture);
  return assets;
}

/** Takes rules or a script; returns them as a page has them, where `</style>` or `</script>` would end them. */
export function inlined(body: Buffer): string {
  return body.toString().replace(/<\/(?=style|script)/gi, '<\\/');
}

/** Takes what stands in a page; returns the source that allows it there (CSP level 3, §2.3.1). */
export function sourceOf(inline: string): string {
  return `'sha256-${createHash('sha256').update(inline).digest('base64')}'`;
}

const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

/** Takes the bytes of a picture; returns its width and height, or undefined where it is no PNG. */
export function sizeOfPng(bytes: Buffer): { width: number; height: number } | undefined {
  // The first chunk is the header (PNG, third edition, §11.2.1).
  if (!bytes.subarray(0, 8).equals(PNG_SIGNATURE) || bytes.length < 24) return undefined;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function readAsset(
  name: string,
  extension: string,
  contentType: string,
  files = [`${name}.${extension}`],
): Asset {
  const body = Buffer.concat(files.map(read));
  return assetOf(name, extension, contentType, extension === 'css' ? rulesAlone(body) : body);
}

function read(file: string): Buffer {
  return readFileSync(new URL(`assets/${file}`, import.meta.url));
}

/** A fifth of our rules, compressed, is comments and indents; nothing is painted before the rules are there. */
function rulesAlone(css: Buffer): Buffer {
  const [first = '', ...rest] = css.toString().split('/*');
  const rules = first + rest.map((each) => each.slice(each.indexOf('*/') + 2)).join('');
  const lines = rules.split('\n').map((line) => line.trim());
  return Buffer.from(lines.filter((line) => line !== '').join('\n'));
}

function assetOf(name: string, extension: string, contentType: string, body: Buffer): Asset {
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 12);
  const path = pathTo(routes.asset, { file: `${name}-${hash}.${extension}` });
  return { path, contentType, body };
}
