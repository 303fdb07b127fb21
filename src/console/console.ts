/**
 * Answers every request to the console, in the order of reference §12.4: session (404), method (405, in
 * `server/fallbacks.ts`), same origin (403), recent sign-in for exports and deletions (403), then the page itself. The
 * first request with a cookie, or to the sign-in page, loads this module and all pages.
 */
import type { IncomingMessage } from 'node:http';
import { LINK_COMMAND } from '../failures/page-problems.ts';
import type { ConsoleRefusal } from '../failures/refusals.ts';
import { renderForPage } from '../failures/render.ts';
import { headerLines } from '../http/request.ts';
import { checkSameOrigin, type SentForm } from '../http/same-origin.ts';
import type { Rate } from '../limits/limits.ts';
import { type ConsoleRoute, pathTo, routes } from '../routes.ts';
import { agentsPage } from './agents-page.ts';
import { committer, recorder } from './audit.ts';
import { auditPage } from './audit-page.ts';
import { confirmationsPage } from './confirmations-page.ts';
import { leadsCsv, leadsJsonl } from './downloads.ts';
import { leadPage } from './lead.ts';
import { leadsPage, newLeads } from './leads.ts';
import { changeMessage, messagesPage } from './messages-page.ts';
import { overviewPage, seeReports } from './overview.ts';
import type { Answer, ChangeParts, ChangeRequest, ConsolePage, ConsoleParts, GivenParts } from './page.ts';
import { deletePerson, personPage } from './person.ts';
import { returnPage } from './return-page.ts';
import { ignoreUnavailable, isFresh, LIFETIME_MS, openSessions, type Session } from './sessions.ts';
import { subscribersPage } from './subscribers.ts';
import { consoleLayout, render, type ShownResult } from './templates.ts';
import { timesIn } from './times.ts';
import { changeLead, changeLeads, changeNote, changeProgress, undoChange } from './work.ts';

const always = () => true;

/** The page functions of each route. `page.ts` explains how to add a page. */
const pages: Readonly<Record<ConsoleRoute, ConsolePage>> = {
  operatorPage: { read: overviewPage },
  signOut: { change: endSession },
  operatorLeads: { read: leadsPage },
  operatorLeadsCsv: { read: leadsCsv, needsFreshSession: always },
  operatorLeadsJsonl: { read: leadsJsonl, needsFreshSession: always },
  operatorNewLeads: { read: newLeads, isBackground: true },
  changeLeads: { change: changeLeads },
  undoChange: { change: undoChange },
  operatorLead: { read: leadPage },
  changeLead: { change: changeLead },
  changeProgress: { change: changeProgress },
  changeNote: { change: changeNote },
  seeReports: { change: seeReports },
  // An export is a GET with `?export`. A deletion is a POST.
  operatorPerson: { read: personPage, needsFreshSession: ({ query }) => query.has('export') },
  changePerson: { change: deletePerson, needsFreshSession: always },
  operatorAgents: { read: agentsPage },
  operatorConfirmations: { read: confirmationsPage },
  operatorSubscribers: { read: subscribersPage },
  operatorMessages: { read: messagesPage },
  changeMessage: { change: changeMessage },
  operatorAudit: { read: auditPage },
};

export type ConsoleRequest = {
  raw: IncomingMessage;
  values: Readonly<Record<string, string | undefined>>;
  query: URLSearchParams;
  takeFromLimit(): Promise<Rate>;
  /** Reads the sent form. Returns undefined if the body is no form. */
  readForm(): Promise<SentForm | undefined>;
};

export type ConsoleAnswer =
  /** The answer to an unknown address. */
  | { kind: 'notFound' }
  | { kind: 'html'; status: number; html: string; retryAfterSeconds?: number }
  | { kind: 'json'; value: object }
  | { kind: 'redirect'; to: string; cookie?: string }
  | { kind: 'file'; name: string; type: string; text: AsyncIterable<string> };

export type Console = ReturnType<typeof openConsole>;

/** Opens the console, whose functions throw `StorageUnavailable`. */
export function openConsole(given: GivenParts) {
  const sessions = openSessions(given);
  const parts: ConsoleParts = { ...given, sessions };
  const { settings, clock } = parts;
  const { origin, protocol } = new URL(settings.baseUrl);
  const cookieName = protocol === 'https:' ? SECURE_COOKIE : COOKIE;

  async function sessionOf(raw: IncomingMessage, extend = true): Promise<Session | undefined> {
    const token = tokenIn(raw, cookieName);
    return token === undefined ? undefined : await sessions.find(token, { extend });
  }

  /** Returns the result of the last change with its button "Undo". If the store can only be read, the page shows none. */
  async function resultOf(session: Session, here: string): Promise<ShownResult | undefined> {
    const text = await sessions.takeResult(session).catch(ignoreUnavailable);
    const undo = session.undo === null ? undefined : (JSON.parse(session.undo) as { key: string }).key;
    return text === undefined ? undefined : { text, undo, here };
  }

  function page(
    title: string,
    main: string,
    more: { name?: string; path?: string; result?: ShownResult | undefined } = {},
  ) {
    return { kind: 'html' as const, status: 200, html: consoleLayout(parts, { title, main, ...more }) };
  }

  function refuse(refusal: ConsoleRefusal, name?: string, back?: string) {
    const { status, sentence, next } = renderForPage(refusal);
    const main = render('message', { heading: sentence, text: next, back });
    const html = consoleLayout(parts, { title: sentence, main, name });
    const wait = 'retryAfterSeconds' in refusal && { retryAfterSeconds: refusal.retryAfterSeconds };
    return { kind: 'html' as const, status, html, ...wait };
  }

  /** Redirects to the first page and sets the cookie for `seconds`. Zero seconds delete the cookie. */
  function toFirstPage(token: string, seconds: number): ConsoleAnswer {
    const secure = cookieName === SECURE_COOKIE ? '; Secure' : '';
    const cookie = `${cookieName}=${token}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
    return { kind: 'redirect', to: routes.operatorPage.path, cookie };
  }

  function whyNotFromOurPage(raw: IncomingMessage): ConsoleRefusal | undefined {
    const { isFromOurPage, isSigned } = checkSameOrigin(raw, origin);
    if (!isFromOurPage) return { kind: 'operatorPressFromElsewhere' };
    return isSigned ? { kind: 'operatorPressByAgent' } : undefined;
  }

  async function run(page: ConsolePage, session: Session, path: string, request: ConsoleRequest): Promise<Answer> {
    const refusal = page.change && whyNotFromOurPage(request.raw);
    if (refusal !== undefined) return refusal;
    const { values, query, readForm } = request;
    const times = timesIn(settings.operatorTimeZone);
    const here = query.size === 0 ? path : `${path}?${query}`;
    const record = recorder(parts, session.name);
    const given = { session, path, values, query, here, now: clock.now(), times, record };
    if (page.needsFreshSession?.(given) && !isFresh(session, given.now)) return { kind: 'sessionNotFresh' };
    if (page.read !== undefined) return await page.read(parts, given);
    const sent = await readForm();
    if (sent === undefined) return { kind: 'operatorButton' };
    const returnTo = returnPage(sent('page')) ?? routes.operatorPage.path;
    return await page.change(parts, { ...given, sent, sentAll: sent.all, returnTo, commit: committer(parts) });
  }

  return {
    isSignedIn: async (raw: IncomingMessage): Promise<boolean> => (await sessionOf(raw)) !== undefined,

    /** Answers a route that needs a session. */
    async answer(name: ConsoleRoute, request: ConsoleRequest): Promise<ConsoleAnswer> {
      const { isBackground } = pages[name];
      const session = await sessionOf(request.raw, !isBackground);
      if (session === undefined) {
        if (name !== 'operatorPage') return { kind: 'notFound' };
        const main = render('signed-out', { path: routes[name].path, command: LINK_COMMAND });
        return page('Sign in', main);
      }
      const path = pathTo(routes[name], request.values);
      const answer = await run(pages[name], session, path, request);
      switch (answer.kind) {
        case 'page': {
          const { zone } = timesIn(settings.operatorTimeZone);
          const here = request.query.size === 0 ? path : `${path}?${request.query}`;
          const main = render(answer.template, { here, ...answer.data, path, zone });
          const result = request.raw.method === 'HEAD' ? undefined : await resultOf(session, here);
          return { ...page(answer.title, main, { name: session.name, path, result }), status: answer.status ?? 200 };
        }
        case 'json':
          return answer;
        case 'done':
          return { kind: 'redirect', to: answer.to };
        case 'signedOut':
          return toFirstPage('', 0);
        case 'file':
          return answer;
        case 'sessionNotFresh':
          return refuse(answer, session.name, routes.operatorPage.path);
        default:
          return refuse(answer, session.name, path);
      }
    },

    /** Returns the same page for every token, so that it reveals nothing. */
    signInPage(request: ConsoleRequest): ConsoleAnswer {
      const path = pathTo(routes.signIn, request.values);
      return page('Sign in', render('sign-in', { path }));
    },

    async signIn({ raw, values, takeFromLimit }: ConsoleRequest): Promise<ConsoleAnswer> {
      const rate = await takeFromLimit();
      if (rate.exceeded) return refuse({ kind: 'signInTooOften', retryAfterSeconds: rate.resetSeconds });
      const refusal = whyNotFromOurPage(raw);
      if (refusal !== undefined) return refuse(refusal);
      const token = await sessions.signIn(values.token ?? '', tokenIn(raw, cookieName));
      if (token === undefined) return refuse({ kind: 'signInLinkNotGood' });
      return toFirstPage(token, LIFETIME_MS / 1_000);
    },

    /** Returns the page for an unavailable store. */
    unavailable: () => refuse({ kind: 'consoleUnavailable' }),
  };
}

/** Ends the session, or every session of the operator's name. */
async function endSession({ sessions }: ChangeParts, { sent, session }: ChangeRequest): Promise<Answer> {
  switch (sent('do')) {
    case 'sign-out':
      await sessions.signOut(session);
      return { kind: 'signedOut' };
    case 'sign-out-everywhere':
      await sessions.signOutEverywhere(session);
      return { kind: 'signedOut' };
    default:
      return { kind: 'operatorButton' };
  }
}

const COOKIE = 'operator';
/** The prefix stops other hosts and plain connections from setting the cookie of an https site. */
const SECURE_COOKIE = `__Host-${COOKIE}`;

/**
 * Returns the cookie's value. Returns undefined if there is no such cookie or several, because somebody else set one of
 * the several.
 */
function tokenIn(request: IncomingMessage, name: string): string | undefined {
  const found = headerLines(request, 'cookie')
    .flatMap((line) => line.split(';'))
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`));
  return found.length === 1 ? found[0]?.slice(name.length + 1) : undefined;
}
