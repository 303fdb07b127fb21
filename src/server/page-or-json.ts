/** Whether an answer that no route gives is a page or JSON. */
import type { IncomingHttpHeaders } from 'node:http';
import { mediaType } from '../http/read-body.ts';
import { folders, pathsOf } from '../routes.ts';

/** What is told of a problem on its page. */
export type ProblemPage = {
  status: number;
  /** From the failure catalogue, or sentences about the fields. */
  sentence: string;
  /** The path of the form's page. */
  backTo?: string | undefined;
  /** Whether someone had typed something, which the browser still has. */
  typed?: boolean;
};

/** Returns the whole HTML document, whatever happens. */
export type RenderProblemPage = (problem: ProblemPage) => string;

/** What is read of a request, whoever parsed it. */
type Asked = { url?: string | undefined; headers: IncomingHttpHeaders };

const FORMS = pathsOf('forms');
/** How browsers send forms. */
const NATIVE: ReadonlySet<string> = new Set([
  'application/x-www-form-urlencoded',
  'multipart/form-data',
]);

const DOCUMENTS = pathsOf('discovery');

/** Programs alone call it, whatever they accept. */
const TOOLS = pathsOf('tools');

/** The path as the router reads it: decoded, without query and fragment, of the absolute form as well. */
export function pathOf(url: string | undefined): string {
  const [path = ''] = (url ?? '').replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1);
  try {
    return decodeURI(path) || '/';
  } catch {
    return path;
  }
}

/** Whether it is one of the documents for machines (contract §4, "Discovery"). */
export function isDiscovery(path: string): boolean {
  return DOCUMENTS.has(path) || folders.discovery.some((folder) => path.startsWith(folder));
}

/** Whether it is the address of a page's mirror in Markdown (contract §4, "Discovery"). */
export function isMirror(path: string): boolean {
  return path.endsWith('.md');
}

/** Whether a form is sent there. */
export function isFormPath(path: string): boolean {
  return FORMS.has(path);
}

/** Whether it asks where a form is sent. */
export function isForm({ url }: Asked): boolean {
  return isFormPath(pathOf(url));
}

/** A person in a browser gets a page, everybody else JSON; a form that was sent, by how it was sent. */
export function wantsPage(asked: Asked): boolean {
  const path = pathOf(asked.url);
  if (isFormPath(path)) {
    const sent = mediaType(asked.headers['content-type'])?.essence;
    return sent === undefined ? acceptsPage(asked) : NATIVE.has(sent);
  }
  if (path.startsWith(folders.api) || isDiscovery(path) || TOOLS.has(path)) return false;
  return acceptsPage(asked);
}

function acceptsPage({ headers }: Asked): boolean {
  return headers.accept?.includes('text/html') ?? false;
}
