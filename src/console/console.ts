/**
 * Answers every request to the console, in the order of reference §12.4: session (303 to the sign-in page), method (405,
 * in `server/fallbacks.ts`), same origin (403), fresh session for exports and deletions (403), then the page itself. The
 * first request with a cookie, or to a sign-in page, loads this module and all pages.
 */
import type { IncomingMessage } from 'node:http';
import { type ConsoleRoute, pathTo, routes } from '../routes.ts';
import { changeAgents } from './agents-change.ts';
import { agentsPage } from './agents-page.ts';
import { type ConsoleAnswer, type ConsoleRequest, openAnswers } from './answers.ts';
import { committer, recorder } from './audit.ts';
import { auditPage } from './audit-page.ts';
import { confirmationsPage } from './confirmations-page.ts';
import { connectionsPage, disconnect } from './connections-page.ts';
import { leadsCsv, leadsJsonl } from './downloads.ts';
import { leadPage } from './lead.ts';
import { leadsPage, newLeads } from './leads.ts';
import { changeMessage, messagesPage } from './messages-page.ts';
import { overviewPage, seeReports } from './overview.ts';
import type { Answer, ChangeParts, ChangeRequest, ConsolePage, ConsoleParts, GivenParts } from './page.ts';
import { deletePerson, deletionPage, personPage } from './person.ts';
import { pageOfForm, returnPage } from './return-page.ts';
import { freshLinkOf, ignoreUnavailable, isFresh, openSessions, type Session } from './sessions.ts';
import { openSignInPages } from './sign-in-pages.ts';
import { subscribersCsv, subscribersPage } from './subscribers.ts';
import { render, type ShownResult } from './templates.ts';
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
  changePerson: { change: deletePerson, needsFreshSession: always, formPage: deletionPage },
  operatorAgents: { read: agentsPage },
  changeAgents: { change: changeAgents, needsFreshSession: always },
  operatorConnections: { read: connectionsPage },
  changeConnections: { change: disconnect },
  operatorConfirmations: { read: confirmationsPage },
  operatorSubscribers: { read: subscribersPage },
  operatorSubscribersCsv: { read: subscribersCsv, needsFreshSession: always },
  operatorMessages: { read: messagesPage },
  changeMessage: { change: changeMessage },
  operatorAudit: { read: auditPage },
};

export type Console = ReturnType<typeof openConsole>;

/** Opens the console, whose functions throw `StorageUnavailable`. */
export function openConsole(given: GivenParts) {
  const sessions = openSessions(given);
  const parts: ConsoleParts = { ...given, sessions };
  const { settings, clock } = parts;
  const answers = openAnswers(parts);
  const { page, refuse, redirectWithCookie, whyNotFromOurPage, tokenOf } = answers;

  async function sessionOf(raw: IncomingMessage, extend = true): Promise<Session | undefined> {
    const token = tokenOf(raw);
    return token === undefined ? undefined : await sessions.find(token, { extend });
  }

  /** Returns the result of the last change with its button "Undo". If the store can only be read, the page shows none. */
  async function resultOf(session: Session, here: string): Promise<ShownResult | undefined> {
    const text = await sessions.takeResult(session).catch(ignoreUnavailable);
    const undo = session.undo === null ? undefined : (JSON.parse(session.undo) as { key: string }).key;
    return text === undefined ? undefined : { text, undo, here };
  }

  async function run(
    page: ConsolePage,
    { session, path, here }: { session: Session; path: string; here: string },
    request: ConsoleRequest,
  ): Promise<Answer> {
    const refusal = page.change && whyNotFromOurPage(request.raw);
    if (refusal !== undefined) return refusal;
    const { values, query, readForm } = request;
    const times = timesIn(settings.operatorTimeZone);
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
      if (session === undefined) return { kind: 'noSession' };
      const path = pathTo(routes[name], request.values);
      const here = request.query.size === 0 ? path : `${path}?${request.query}`;
      const answer = await run(pages[name], { session, path, here }, request);
      switch (answer.kind) {
        case 'page': {
          const { zone } = timesIn(settings.operatorTimeZone);
          const main = render(answer.template, { here, ...answer.data, path, zone });
          const result = request.raw.method === 'HEAD' ? undefined : await resultOf(session, here);
          return { ...page(answer.title, main, { name: session.name, path, result }), status: answer.status ?? 200 };
        }
        case 'json':
          return answer;
        case 'done':
          return { kind: 'redirect', to: answer.to };
        case 'signedOut':
          return redirectWithCookie('', 0);
        case 'file':
          return answer;
        case 'sessionNotFresh': {
          const { formPage = (of: string) => pageOfForm(of, request.query) } = pages[name];
          const back = formPage(path);
          return refuse(answer, { name: session.name, back, link: freshLinkOf(session, back) });
        }
        default:
          return refuse(answer, { name: session.name, back: path });
      }
    },

    ...openSignInPages(parts, sessions, answers),

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
