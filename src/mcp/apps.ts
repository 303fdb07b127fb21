/**
 * The protocol's extension MCP Apps, by which a host shows HTML of a server in a sandboxed frame (reference §8.12). A
 * client of 2026-07-28 declares it in each request. Older clients declare it once, in `initialize`. There are no
 * sessions, so the id of their session repeats the declaration, and nothing is stored.
 */
import { isObject } from '../http/request.ts';
import type { NewId } from '../platform/random.ts';

export const APPS_EXTENSION = 'io.modelcontextprotocol/ui';
export const CARD_URI = 'ui://lead-intake/preview';
export const APP_TYPE = 'text/html;profile=mcp-app';
export const SESSION_HEADER = 'mcp-session-id';

const SESSION_WITH_APPS = /^apps-[\da-f-]{36}$/;

/** Returns true if the capabilities of a client include the extension, for this type of document. */
export function declaresApps(capabilities: unknown): boolean {
  const extensions = isObject(capabilities) ? capabilities.extensions : undefined;
  const declared = isObject(extensions) ? extensions[APPS_EXTENSION] : undefined;
  if (!isObject(declared)) return false;
  const { mimeTypes = [APP_TYPE] } = declared;
  return Array.isArray(mimeTypes) && mimeTypes.includes(APP_TYPE);
}

/** Returns the session id for the answer to this message, or undefined if the message does not declare the extension. */
export function sessionFor({ method, params }: Record<string, unknown>, newId: NewId): string | undefined {
  const declares = method === 'initialize' && isObject(params) && declaresApps(params.capabilities);
  return declares ? `apps-${newId()}` : undefined;
}

/** Returns true if a session id repeats the declaration of the extension. */
export function isSessionWithApps(id: string | undefined): boolean {
  return id !== undefined && SESSION_WITH_APPS.test(id);
}
