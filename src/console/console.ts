/**
 * The chain of every request to the console, in the order of beyond §7: session (404), method (405, in
 * `server/fallbacks.ts`), press (403), for what takes data away a young link (403), then the page itself. Loaded
 * by the first request that needs it: while nobody signs in, none of the room is.
 */
import type { IncomingMessage } from 'node:http';
import { LINK_COMMAND } from '../failures/console-problems.ts';
import type { ConsoleRefusal } from '../failures/refusals.ts';
import { type JudgedPress, judgePress } from '../http/press.ts';
import type { Rate } from '../limits/limits.ts';
import { type ConsoleRoute, routes } from '../routes.ts';
import { openDailyCounts } from '../submissions/daily-counts.ts';
import { recorder } from './audit.ts';
import { setCookie, tokenIn } from './cookie.ts';
import { LIFETIME_MS } from './forget.ts';
import { consoleLayout, refusalPage } from './layout.ts';
import { consolePages } from './pages.ts';
import { isRecent, openSessions, type Session } from './sessions.ts';
import { render } from './templates.ts';
import { timesIn } from './times.ts';
import type { Answer, ConsoleParts, GivenParts, Press } from './visit.ts';

export type ConsoleRequest = {
  raw: IncomingMessage;
  values: Readonly<Record<string, string | undefined>>;
  /** Path and query, as they were sent. */
  url: string;
  takeFromLimit(): Promise<Rate>;
  /** What reads the form that was sent; undefined where the body is none. */
  readForm(): Promise<((name: string) => string | null) | undefined>;
};

export type ConsoleAnswer =
  /** As if there were nothing at this address. */
  | { kind: 'notFound' }
  | { kind: 'html'; status: number; html: string; retryAfterSeconds?: number }
  | { kind: 'redirect'; to: string; cookie?: string }
  | { kind: 'file'; name: string; type: string; text: AsyncIterable<string> };

export type Console = {
  /** Whether somebody is signed in by this request's cookie. */
  isSignedIn(raw: IncomingMessage): Promise<boolean>;
  /** A page behind the session, or a press on one. */
  answer(name: ConsoleRoute, request: ConsoleRequest): Promise<ConsoleAnswer>;
  /** The same page for any token, known or not. */
  signInPage(request: ConsoleRequest): ConsoleAnswer;
  signIn(request: ConsoleRequest): Promise<ConsoleAnswer>;
  /** What is said while the store is away. */
  unavailable(): Exclude<ConsoleAnswer, { kind: 'notFound' }>;
};

/** Its functions throw `StorageUnavailable`. */
export function openConsole(given: GivenParts): Console {
  const sessions = openSessions(given.storage, given);
  const parts: ConsoleParts = { ...given, sessions, dailyCounts: openDailyCounts(given) };
  const { settings, clock } = parts;
  const { origin, protocol } = new URL(settings.baseUrl);
  const https = protocol === 'https:';

  const sessionOf = async (raw: IncomingMessage): Promise<Session | undefined> => {
    const token = tokenIn(raw, https);
    return token === undefined ? undefined : await sessions.find(token);
  };

  const page = (title: string, main: string, more: { name?: string; path?: string } = {}) => {
    const html = consoleLayout(parts, { title, main, ...more });
    return { kind: 'html' as const, status: 200, html };
  };

  const refuse = (refusal: ConsoleRefusal, session?: Session, back?: string) => {
    const { status, html } = refusalPage(parts, refusal, { name: session?.name, back });
    const wait = 'retryAfterSeconds' in refusal && { retryAfterSeconds: refusal.retryAfterSeconds };
    return { kind: 'html' as const, status, html, ...wait };
  };

  async function signOut(session: Session, pressed: Press): Promise<ConsoleAnswer | undefined> {
    const cookie = setCookie('', { https, seconds: 0 });
    switch (pressed.sent('do')) {
      case 'sign-out':
        await sessions.signOut(session);
        break;
      case 'sign-out-everywhere':
        await sessions.signOutEverywhere(session);
        break;
      default:
        return undefined;
    }
    return { kind: 'redirect', to: routes.operatorPage.path, cookie };
  }

  return {
    async isSignedIn(raw) {
      return (await sessionOf(raw)) !== undefined;
    },

    async answer(name, request) {
      const session = await sessionOf(request.raw);
      if (session === undefined) {
        return name === 'operatorPage'
          ? page(
              'Sign in',
              render('signed-out', { path: routes.operatorPage.path, command: LINK_COMMAND }),
            )
          : { kind: 'notFound' };
      }
      const [path = '', search = ''] = request.url.split(/\?(.*)/s, 2);
      const isPress = routes[name].method === 'POST';
      const refusal = isPress ? whyNotPressed(judgePress(request.raw, origin)) : undefined;
      if (refusal !== undefined) return refuse(refusal, session, path);

      const visit = {
        session,
        values: request.values,
        query: new URLSearchParams(search),
        now: clock.now(),
        record: recorder(parts, session.name),
      };
      const { look, change, takesAway } = consolePages[name];
      if (takesAway?.(visit) && !isRecent(session, visit.now)) {
        return refuse({ kind: 'signInNotRecent' }, session, routes.operatorPage.path);
      }
      const answered = (answer: Answer): ConsoleAnswer => {
        if (answer.kind === 'page') {
          return page(answer.title, answer.main, { name: session.name, path });
        }
        if (answer.kind === 'done') return { kind: 'redirect', to: answer.to };
        return answer.kind === 'file' ? answer : refuse(answer, session, path);
      };
      if (!isPress) return answered((await look?.(parts, visit)) ?? { kind: 'unknownRow' });

      const sent = await request.readForm();
      if (sent === undefined) return refuse({ kind: 'operatorButton' }, session, path);
      const pressed = { ...visit, sent };
      if (name === 'signOut') {
        return (
          (await signOut(session, pressed)) ?? refuse({ kind: 'operatorButton' }, session, path)
        );
      }
      return answered((await change?.(parts, pressed)) ?? { kind: 'operatorButton' });
    },

    signInPage(request) {
      // Who presses in a moment finds them counted.
      parts.dailyCounts.begin(timesIn(settings.operatorTimeZone).zone);
      const [path = ''] = request.url.split('?', 1);
      return page('Sign in', render('sign-in', { path }));
    },

    async signIn(request) {
      const rate = await request.takeFromLimit();
      if (rate.exceeded) {
        return refuse({ kind: 'signInTooOften', retryAfterSeconds: rate.resetSeconds });
      }
      const refusal = whyNotPressed(judgePress(request.raw, origin));
      if (refusal !== undefined) return refuse(refusal);
      const token = await sessions.signIn(request.values.token ?? '', tokenIn(request.raw, https));
      if (token === undefined) return refuse({ kind: 'signInLinkNotGood' });
      const cookie = setCookie(token, { https, seconds: LIFETIME_MS / 1_000 });
      return { kind: 'redirect', to: routes.operatorPage.path, cookie };
    },

    unavailable: () => refuse({ kind: 'consoleUnavailable' }),
  };
}

function whyNotPressed({ isFromOurPage, isSigned }: JudgedPress): ConsoleRefusal | undefined {
  if (!isFromOurPage) return { kind: 'operatorPressFromElsewhere' };
  return isSigned ? { kind: 'operatorPressByAgent' } : undefined;
}
