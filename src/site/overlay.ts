/**
 * What an operator lays over the site without a fork (CONTENT_DIR): pages, `words.yaml`, `site.css`,
 * a logo and a picture for links. Whatever is wrong in there stops the start, with a sentence that
 * names the file.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathTo, routes } from '../routes.ts';
import { type OwnAssets, sizeOfPng } from './assets.ts';
import { layWords, ourWords, type Words } from './words.ts';

export type Overlay = OwnAssets & {
  /** The text of each page by its name, `quote.md`. */
  pages: ReadonlyMap<string, string>;
  words: Words;
};

/** The site can't be made of what stands in CONTENT_DIR; the message is one sentence. */
export class ContentFault extends Error {
  override name = 'ContentFault';
}

/** Nothing of an operator's own. */
export const noOverlay: Overlay = {
  pages: new Map(),
  get words() {
    return ourWords();
  },
  css: undefined,
  logo: undefined,
  picture: undefined,
};

const PAGE = /^[a-z0-9]+(-[a-z0-9]+)*\.md$/;
const LOGO_TYPES: Readonly<Record<string, string>> = { svg: 'image/svg+xml', png: 'image/png' };

/** Another origin would see who reads the page, and the content security policy stops it anyway. */
const ELSEWHERE = /@import|url\(\s*(["']\s*)?(https?:)?\/\//i;

/** The paths that no page may take. */
const taken: ReadonlySet<string> = new Set(Object.values(routes).map(({ path }) => path));

/** Takes the folder, if one is set; returns what it holds, or throws a `ContentFault`. */
export function readOverlay(folder: string | undefined): Overlay {
  if (folder === undefined) return noOverlay;
  const overlay = { ...noOverlay, pages: new Map<string, string>() };
  const names = readOr(' names a folder that can’t be read.', () => readdirSync(folder));
  for (const name of names.filter((each) => !each.startsWith('.'))) {
    const bytes = readOr(`: ${name} can’t be read.`, () => readFileSync(join(folder, name)));
    if (PAGE.test(name)) {
      if (taken.has(pathTo(routes.page, { page: name.slice(0, -'.md'.length) })))
        throw new ContentFault(`CONTENT_DIR: ${name} has a name that is taken.`);
      overlay.pages.set(name, textOf(name, bytes));
    } else if (name === 'words.yaml') {
      overlay.words = naming(`CONTENT_DIR: ${name}`, () => layWords(textOf(name, bytes)));
    } else if (name === 'site.css') {
      if (ELSEWHERE.test(textOf(name, bytes)))
        throw new ContentFault(`CONTENT_DIR: ${name} must load nothing from another place.`);
      overlay.css = bytes;
    } else if (name === 'opengraph.png') {
      if (sizeOfPng(bytes) === undefined) throw new ContentFault(`CONTENT_DIR: ${name} is no PNG.`);
      overlay.picture = bytes;
    } else {
      overlay.logo = logoOf(name, bytes, overlay.logo !== undefined);
    }
  }
  return overlay;
}

/** Runs what reads a file; whatever it throws becomes a sentence that opens with the file's name. */
export function naming<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ContentFault) throw error;
    const [reason = ''] = (error as Error).message.split('\n', 1);
    throw new ContentFault(`${file}: ${reason.replace(/[.:]$/, '')}.`);
  }
}

function readOr<T>(fault: string, read: () => T): T {
  try {
    return read();
  } catch {
    throw new ContentFault(`CONTENT_DIR${fault}`);
  }
}

function textOf(name: string, bytes: Buffer): string {
  return naming(`CONTENT_DIR: ${name}`, () =>
    new TextDecoder('utf-8', { fatal: true }).decode(bytes),
  );
}

/** A misspelt name would change nothing, and nobody would know why. */
function logoOf(name: string, body: Buffer, another: boolean): OwnAssets['logo'] {
  const [stem, extension = ''] = name.split('.');
  const contentType = Object.hasOwn(LOGO_TYPES, extension) ? LOGO_TYPES[extension] : undefined;
  if (stem !== 'logo' || contentType === undefined || name !== `logo.${extension}`) {
    throw new ContentFault(
      `CONTENT_DIR: ${name} is no file of a site: pages end in .md, the others are words.yaml, site.css, opengraph.png, logo.svg and logo.png.`,
    );
  }
  if (another) throw new ContentFault('CONTENT_DIR: of logo.svg and logo.png keep one.');
  return { extension, contentType, body };
}
