/**
 * Types of the console's requests and answers. Functions that all handlers of the console use: render pages and
 * refusals, set and read the cookie, check the origin.
 */
import type { IncomingMessage } from 'node:http';
import type { ConsoleRefusal } from '../failures/refusals.ts';
import { renderForPage } from '../failures/render.ts';
import { headerLines } from '../http/request.ts';
import { checkSameOrigin, type SentForm } from '../http/same-origin.ts';
import type { Rate } from '../limits/limits.ts';
import { routes } from '../routes.ts';
import type { ConsoleParts } from './page.ts';
import type { FreshLink } from './sessions.ts';
import { consoleLayout, render, type ShownResult } from './templates.ts';

export type ConsoleRequest = {
  raw: IncomingMessage;
  values: Readonly<Record<string, string | undefined>>;
  query: URLSearchParams;
  takeFromLimit(name: 'signIns' | 'signInMails'): Promise<Rate>;
  /** Reads the sent form. Returns undefined if the body is no form. */
  readForm(): Promise<SentForm | undefined>;
};

export type ConsoleAnswer =
  /** The route needs a session, and the request has none. */
  | { kind: 'noSession' }
  | { kind: 'html'; status: number; html: string; retryAfterSeconds?: number }
  | { kind: 'json'; value: object }
  /** `afterwards` is called when the response has been sent. It never throws. */
  | { kind: 'redirect'; to: string; cookie?: string; afterwards?: () => Promise<void> }
  | { kind: 'file'; name: string; type: string; text: AsyncIterable<string> };

/** Ways to a new link for a visitor without a session: the form, if `OPERATORS` is set, and the command. */
type NewLink = { isMailed: boolean; command: string };

export type Answers = ReturnType<typeof openAnswers>;

export function openAnswers(parts: ConsoleParts) {
  const { origin, protocol } = new URL(parts.settings.baseUrl);
  const isSecure = protocol === 'https:';
  const cookieName = isSecure ? SECURE_COOKIE : COOKIE;

  return {
    page(title: string, main: string, more: { name?: string; path?: string; result?: ShownResult | undefined } = {}) {
      return { kind: 'html' as const, status: 200, html: consoleLayout(parts, { title, main, ...more }) };
    },

    refuse(refusal: ConsoleRefusal, more: { name?: string; back?: string; link?: FreshLink | NewLink } = {}) {
      const { status, sentence, next } = renderForPage(refusal);
      const main = render('message', { heading: sentence, text: next, ...more });
      const html = consoleLayout(parts, { title: sentence, main, name: more.name });
      const wait = 'retryAfterSeconds' in refusal && { retryAfterSeconds: refusal.retryAfterSeconds };
      return { kind: 'html' as const, status, html, ...wait };
    },

    /**
     * Redirects to a page (default: the first page) and sets the cookie for `seconds`. Zero seconds delete the cookie. A
     * link in a notice is opened from another site, so `SameSite=Strict` would hide the session from its page.
     */
    redirectWithCookie(token: string, seconds: number, page?: string): ConsoleAnswer {
      const secure = isSecure ? '; Secure' : '';
      const cookie = `${cookieName}=${token}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
      return { kind: 'redirect', to: page ?? routes.operatorPage.path, cookie };
    },

    /** Returns why a click does not count, or undefined if it came from a page of the console. */
    whyNotFromOurPage(raw: IncomingMessage): ConsoleRefusal | undefined {
      const { isFromOurPage, isSigned } = checkSameOrigin(raw, origin);
      if (!isFromOurPage) return { kind: 'operatorPressFromElsewhere' };
      return isSigned ? { kind: 'operatorPressByAgent' } : undefined;
    },

    /** Returns the token in the cookie of a request. */
    tokenOf: (raw: IncomingMessage) => tokenIn(raw, cookieName),
  };
}

const COOKIE = 'operator';
/** The prefix stops other hosts and plain connections from setting the cookie of an https site. */
const SECURE_COOKIE = `__Host-${COOKIE}`;

/**
 * Returns the cookie's value. Returns undefined without such a cookie, and also if there are several. In that case
 * somebody else has set one of them.
 */
function tokenIn(request: IncomingMessage, name: string): string | undefined {
  const found = headerLines(request, 'cookie')
    .flatMap((line) => line.split(';'))
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`));
  return found.length === 1 ? found[0]?.slice(name.length + 1) : undefined;
}
