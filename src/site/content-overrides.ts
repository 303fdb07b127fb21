/**
 * Reads CONTENT_DIR, which overrides parts of the site: pages, `words.yaml`, `site.css`, a logo, a photo of
 * the contractor and a picture for links. An error in CONTENT_DIR stops the start, with a sentence that names the file.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectFile } from '../project.ts';
import { pathTo, routes } from '../routes.ts';
import { otherThanFile } from '../storage/files.ts';
import { type AssetOverrides, sizeOfPng } from './assets.ts';
import { defaultWords, mergeWords, type Words } from './words.ts';

export type ContentOverrides = AssetOverrides & {
  /** Text of each page by its file name, such as `quote.md`. */
  pages: ReadonlyMap<string, string>;
  words: Words;
};

/** Thrown if CONTENT_DIR is invalid. The message is one sentence. */
export class ContentFault extends Error {
  override name = 'ContentFault';
}

export const noOverrides: ContentOverrides = {
  pages: new Map(),
  get words() {
    return defaultWords();
  },
  css: undefined,
  logo: undefined,
  photo: undefined,
  picture: undefined,
};

export const defaultPages = projectFile('content/');
export const PAGE_ENDING = '.md';

const PAGE = /^[a-z0-9]+(-[a-z0-9]+)*\.md$/;
/** Pictures of which there is one, by name: the logo and the photo of the contractor. */
const PICTURES: Readonly<Record<string, { of: 'logo' | 'photo'; contentType: string }>> = {
  'logo.svg': { of: 'logo', contentType: 'image/svg+xml' },
  'logo.png': { of: 'logo', contentType: 'image/png' },
  'contractor.jpg': { of: 'photo', contentType: 'image/jpeg' },
  'contractor.png': { of: 'photo', contentType: 'image/png' },
};

/** Files and folders that operating systems, editors and version control create (reference §15.5). */
const IGNORED =
  /^(\..*|#.*#|~\$.*|.*(~|\.(backup|bak|old|orig|rej|save|swo|swp|tmp))|README(\.\w+)?|(ehthumbs(_vista)?|thumbs)\.db|desktop\.ini|icon\r|lost\+found|__MACOSX|\$RECYCLE\.BIN|System Volume Information|@eaDir|#recycle)$/is;

/** Copies that a file manager, a browser or a synchronization makes: `quote - Copy (2).md`, `quote (1).md`. */
const COPY =
  /^[^(]* (- )?(\([^()]*)?\b(copy|kopie|copie|copia)\b[\d ()-]*\.\w+$|^[^(]* \(\d+\)\.\w+$|\.sync-conflict-/i;

const isIgnored = (name: string) => !PAGE.test(name) && (IGNORED.test(name) || COPY.test(name));

/**
 * Matches style rules that load from another origin, which would see the visitors. The content security policy blocks
 * such requests.
 */
const LOADS_FROM_ELSEWHERE = /@import|url\(\s*(["']\s*)?(https?:)?\/\//i;

const reservedPaths: ReadonlySet<string> = new Set(Object.values(routes).map(({ path }) => path));

/** Returns the names of all pages, such as `quote`. */
export function pageNames({ pages }: Pick<ContentOverrides, 'pages'> = noOverrides): string[] {
  const ours = readdirSync(defaultPages).filter((file) => file.endsWith(PAGE_ENDING));
  return [...new Set([...ours, ...pages.keys()])].map((file) => file.slice(0, -PAGE_ENDING.length));
}

/** Returns the overrides of the folder, or no overrides if `folder` is undefined. Throws `ContentFault`. */
export function readContentOverrides(folder: string | undefined): ContentOverrides {
  if (folder === undefined) return noOverrides;
  const overrides = { ...noOverrides, pages: new Map<string, string>() };
  const names = orFault('CONTENT_DIR names a folder that can’t be read.', () => readdirSync(folder));
  for (const name of names.filter((each) => !isIgnored(each))) {
    const file = `CONTENT_DIR: ${name}`;
    const bytes = orFault(`${file} can’t be read.`, () => {
      const kind = otherThanFile(join(folder, name));
      if (kind !== undefined) throw new ContentFault(`${file} is ${kind}. Only files are allowed.`);
      return readFileSync(join(folder, name));
    });
    const text = () => withFileName(file, () => new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    if (PAGE.test(name)) {
      if (reservedPaths.has(pathTo(routes.page, { page: name.slice(0, -PAGE_ENDING.length) })))
        throw new ContentFault(`${file} has a reserved name.`);
      overrides.pages.set(name, text());
    } else if (name === 'words.yaml') {
      overrides.words = withFileName(file, () => mergeWords(text()));
    } else if (name === 'site.css') {
      if (LOADS_FROM_ELSEWHERE.test(text()))
        throw new ContentFault(`${file} must not load anything from another address.`);
      overrides.css = bytes;
    } else if (name === 'opengraph.png') {
      if (sizeOfPng(bytes) === undefined) throw new ContentFault(`${file} is not a PNG.`);
      overrides.picture = bytes;
    } else if (Object.hasOwn(PICTURES, name)) {
      const { of = 'logo', contentType = '' } = PICTURES[name] ?? {};
      if (overrides[of] !== undefined) {
        const both = Object.keys(PICTURES).filter((each) => PICTURES[each]?.of === of);
        throw new ContentFault(`CONTENT_DIR: ${both.join(' and ')} exclude each other. Remove one of them.`);
      }
      overrides[of] = { extension: name.slice(-3), contentType, body: bytes };
    } else {
      // A misspelt name would have no effect, and nobody would notice.
      throw new ContentFault(
        `${file} is not a file of a site. Pages end in .md. The other files are words.yaml, site.css, opengraph.png, logo.svg or .png, and contractor.jpg or .png.`,
      );
    }
  }
  return overrides;
}

/** Returns the result of `read`. An error in `read` becomes a `ContentFault` that begins with the name of the file. */
export function withFileName<T>(file: string, read: () => T): T {
  return orFault((reason) => `${file}: ${reason.replace(/[.:]$/, '')}.`, read);
}

function orFault<T>(fault: string | ((reason: string) => string), read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ContentFault) throw error;
    const [reason = ''] = (error as Error).message.split('\n', 1);
    throw new ContentFault(typeof fault === 'string' ? fault : fault(reason));
  }
}
