/** Decides whether a problem is answered as a page, as JSON or as problem details, and sends it. */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import { PROBLEM_TYPE, problemDetails, type RenderedProblem } from '../failures/render.ts';
import { namesProblemDetails } from '../http/negotiation.ts';
import { mediaType } from '../http/request.ts';
import { folders, pathsOf } from '../routes.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Base address of the service, for the addresses in problem details. `app.ts` decorates it. */
    baseUrl: string;
  }
}

/** The content of a problem's page. */
export type ProblemPage = {
  status: number;
  /** Text of the failure catalogue, or sentences about the fields. */
  sentence: string;
  /** Path of the form's page. */
  backTo?: string | undefined;
  /** True if the person has typed values, which the browser still has. */
  typed?: boolean;
};

/** Returns the whole HTML document. Never throws. */
export type RenderProblemPage = (problem: ProblemPage) => string;

/** The relevant part of a request of Node.js or Fastify. */
type RequestHead = { url?: string | undefined; headers: IncomingHttpHeaders };

const FORMS = pathsOf('forms');
/** Media types of forms that browsers send. */
const NATIVE: ReadonlySet<string> = new Set(['application/x-www-form-urlencoded', 'multipart/form-data']);
const DOCUMENTS = pathsOf('discovery');
/** Only programs call these routes, so `Accept` has no effect. */
const TOOLS = pathsOf('tools');

export function isRead(method: string | undefined): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Returns the path as the router reads it: decoded, without query and fragment. Only the path of an absolute URL remains. */
export function pathOf(url: string | undefined): string {
  const path = writtenPath(url ?? '');
  try {
    return decodeURI(path) || '/';
  } catch {
    return path;
  }
}

/** Returns the path of an address without decoding it, without query and fragment. */
export function writtenPath(url: string): string {
  const [path = ''] = url.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1);
  return path;
}

/** Returns true for the documents for machines (reference §3.11). */
export function isDiscovery(path: string): boolean {
  return DOCUMENTS.has(path) || folders.discovery.some((folder) => path.startsWith(folder));
}

/** Returns true for the paths to which forms are sent. */
export function isFormPath(path: string): boolean {
  return FORMS.has(path);
}

/** Returns true for the form routes and for every path below the agent routes (reference §18.5). */
export function hasProblemDetails(path: string): boolean {
  return FORMS.has(path) || folders.agent.some((folder) => path === folder || path.startsWith(`${folder}/`));
}

/** Returns true if a refusal in JSON becomes problem details. */
export function wantsProblemDetails({ url, headers }: RequestHead): boolean {
  return namesProblemDetails(headers.accept) && hasProblemDetails(pathOf(url));
}

/** Returns true for the paths of the tools. */
export function isToolPath(path: string): boolean {
  return TOOLS.has(path);
}

/** Returns true if the request comes from a person in a browser. For a form, the media type of the request decides. */
export function wantsPage(request: RequestHead): boolean {
  const path = pathOf(request.url);
  if (isFormPath(path)) {
    const sent = mediaType(request.headers['content-type'])?.essence;
    return sent === undefined ? acceptsPage(request) : NATIVE.has(sent);
  }
  if (path.startsWith(folders.api) || isDiscovery(path) || TOOLS.has(path)) return false;
  return acceptsPage(request);
}

function acceptsPage({ headers }: RequestHead): boolean {
  return headers.accept?.includes('text/html') ?? false;
}

/** Answers with a refusal, as its page, as JSON or as problem details. No cache may store it. */
export function sendProblem(reply: FastifyReply, rendered: RenderedProblem, page?: string): FastifyReply {
  const { status, headers, body } = rendered;
  const { request, server } = reply;
  reply.code(status).headers({ 'cache-control': 'no-store', ...headers });
  if (page !== undefined) return reply.type('text/html; charset=utf-8').send(page);
  if (!wantsProblemDetails(request)) return reply.send(body);
  const details = problemDetails(rendered, { baseUrl: server.baseUrl, requestId: request.id });
  return reply.type(PROBLEM_TYPE).send(details);
}
