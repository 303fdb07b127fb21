/** Whether an answer that no route gives is a page or JSON. */
import type { IncomingHttpHeaders } from 'node:http';
import { mediaType } from '../http/body.ts';

/** What is read of a request, whoever parsed it. */
type Asked = { url?: string | undefined; headers: IncomingHttpHeaders };

/** Where browsers send forms, and how. */
const FORMS: ReadonlySet<string> = new Set(['/api/leads', '/api/subscribe']);
const NATIVE: ReadonlySet<string> = new Set([
  'application/x-www-form-urlencoded',
  'multipart/form-data',
]);

const DOCUMENTS: ReadonlySet<string> = new Set([
  '/api/agent/manifest',
  '/api/agent/content',
  '/llms.txt',
  '/openapi.json',
]);
const FAMILIES = ['/.well-known/', '/schemas/', '/agents/tools'];

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
  return DOCUMENTS.has(path) || FAMILIES.some((family) => path.startsWith(family));
}

/** Whether it is the address of a page's mirror in Markdown (contract §4, "Discovery"). */
export function isMirror(path: string): boolean {
  return path.endsWith('.md');
}

/** Whether a form is sent there. */
export function isForm({ url }: Asked): boolean {
  return FORMS.has(pathOf(url));
}

/** A person in a browser gets a page, everybody else JSON; a form that was sent, by how it was sent. */
export function wantsPage(asked: Asked): boolean {
  const path = pathOf(asked.url);
  if (isForm(asked)) {
    const sent = mediaType(asked.headers['content-type'])?.essence;
    return sent === undefined ? acceptsPage(asked) : NATIVE.has(sent);
  }
  if (path.startsWith('/api/') || isDiscovery(path)) return false;
  return acceptsPage(asked);
}

function acceptsPage({ headers }: Asked): boolean {
  return headers.accept?.includes('text/html') ?? false;
}
