/** Styles, scripts and pictures. The path of each asset contains a digest of its content. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { projectFile } from '../project.ts';
import { pathTo, routes } from '../routes.ts';

export type Asset = { path: string; contentType: string; body: Buffer };

/** All assets, read at the start. Caches may store each asset forever. */
export const defaultAssets = {
  stylesheet: readAsset('site', 'css', 'text/css; charset=utf-8', ['site.css', 'front.css']),
  /** The script of a page with a form, as one file. */
  script: readAsset('form', 'js', 'text/javascript; charset=utf-8', ['form.js', 'arrival.js', 'hints.js', 'fill.js']),
  /** The script of a page without a form, with tables or commands. */
  scrollScript: readAsset('scroll', 'js', 'text/javascript; charset=utf-8', ['scroll.js', 'copy.js', 'contents.js']),
  /** The script of a page with relative times. */
  timesScript: readAsset('times', 'js', 'text/javascript; charset=utf-8'),
  icon: readAsset('icon', 'svg', 'image/svg+xml'),
  /** Icon for the start screen of a phone, 180 × 180. The phone rounds its corners. */
  touchIcon: readAsset('apple-touch-icon', 'png', 'image/png'),
  /** Picture beside links in messengers (Open Graph). */
  picture: readAsset('opengraph', 'png', 'image/png'),
};

/** Additional rules of a page with code or a list of contents. */
export const documentationRules = escapeInline(withoutComments(read('documentation.css')));

/** Inline script of the thank-you page. It is the last element, so that it runs before the page is painted. */
export const sentScript = escapeInline(read('sent.js'));

export type Assets = Omit<typeof defaultAssets, 'touchIcon'> & { touchIcon?: Asset; photo?: Asset };

type Picture = { extension: string; contentType: string; body: Buffer };

/** The assets of CONTENT_DIR. */
export type AssetOverrides = {
  css: Buffer | undefined;
  logo: Picture | undefined;
  /** Photo of the contractor. */
  photo: Picture | undefined;
  /** Picture for links in messengers, as PNG. */
  picture: Buffer | undefined;
};

/**
 * Returns all assets. The operator's style rules follow the default rules. The operator's pictures replace the default
 * pictures.
 */
export function overrideAssets({ css, logo, photo, picture }: AssetOverrides): Assets {
  const assets: Assets = { ...defaultAssets };
  if (css !== undefined) {
    const { contentType, body } = defaultAssets.stylesheet;
    const both = Buffer.concat([body, Buffer.from('\n'), css]);
    assets.stylesheet = assetOf('site', 'css', contentType, both);
  }
  if (logo !== undefined) {
    const { extension, contentType, body } = logo;
    assets.icon = assetOf('icon', extension, contentType, body);
    // Phones do not support SVG as the icon of the start screen.
    if (extension === 'png') assets.touchIcon = assetOf('apple-touch-icon', 'png', contentType, body);
    else delete assets.touchIcon;
  }
  if (photo !== undefined) assets.photo = assetOf('contractor', photo.extension, photo.contentType, photo.body);
  if (picture !== undefined) assets.picture = assetOf('opengraph', 'png', 'image/png', picture);
  return assets;
}

/** Escapes `</style>` and `</script>` in inline rules and scripts. */
export function escapeInline(body: Buffer): string {
  return body.toString().replace(/<\/(?=style|script)/gi, '<\\/');
}

/** Returns the source expression that allows an inline script or style (CSP level 3, §2.3.1). */
export function cspSource(inline: string): string {
  return `'sha256-${createHash('sha256').update(inline).digest('base64')}'`;
}

const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

/** Returns width and height in pixels, or undefined if the bytes are no PNG. */
export function sizeOfPng(bytes: Buffer): { width: number; height: number } | undefined {
  // The first chunk is the header (PNG, third edition, §11.2.1).
  if (!bytes.subarray(0, 8).equals(PNG_SIGNATURE) || bytes.length < 24) return undefined;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function readAsset(name: string, extension: string, contentType: string, files = [`${name}.${extension}`]): Asset {
  const body = Buffer.concat(files.map(read));
  const minify = { css: withoutComments, js: withoutCommentLines }[extension];
  return assetOf(name, extension, contentType, minify?.(body) ?? body);
}

function read(file: string): Buffer {
  return readFileSync(projectFile(`src/site/assets/${file}`));
}

/**
 * Removes comments and indents, which are a fifth of the compressed size. The browser paints a page only after it has
 * the rules.
 */
function withoutComments(css: Buffer): Buffer {
  const [first = '', ...rest] = css.toString().split('/*');
  const rules = first + rest.map((each) => each.slice(each.indexOf('*/') + 2)).join('');
  const lines = rules.split('\n').map((line) => line.trim());
  return Buffer.from(lines.filter((line) => line !== '').join('\n'));
}

/**
 * Removes indents and comments, which are a fifth of a script's size. In our scripts, each comment has its own line.
 */
function withoutCommentLines(script: Buffer): Buffer {
  const lines = script.toString().split('\n');
  const code = lines.map((line) => line.trim()).filter((line) => !/^(?:$|\/\/|\/\*\*)/.test(line));
  return Buffer.from(code.join('\n'));
}

function assetOf(name: string, extension: string, contentType: string, body: Buffer): Asset {
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 12);
  const path = pathTo(routes.asset, { file: `${name}-${hash}.${extension}` });
  return { path, contentType, body };
}
