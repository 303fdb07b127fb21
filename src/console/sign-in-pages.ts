/** The pages that need no session: the form for a link by mail, and the button of a link (reference §12.2, §12.16). */
import { LINK_COMMAND } from '../failures/page-problems.ts';
import { pathTo, routes } from '../routes.ts';
import type { Answers, ConsoleAnswer, ConsoleRequest } from './answers.ts';
import type { GivenParts } from './page.ts';
import { returnPage } from './return-page.ts';
import { LIFETIME_MS, type Sessions } from './sessions.ts';
import { linkRequests } from './sign-in-mail.ts';
import { render } from './templates.ts';

export function openSignInPages(parts: GivenParts, sessions: Pick<Sessions, 'signIn'>, answers: Answers) {
  const { settings, log } = parts;
  const { page, refuse, redirectWithCookie, whyNotFromOurPage, tokenOf } = answers;
  const requestLink = linkRequests(parts);
  const hasOperators = settings.operators.length > 0;

  return {
    /** Returns the form for an address, or the command if nobody can sign in by mail. */
    signInForm({ query }: ConsoleRequest): ConsoleAnswer {
      const back = returnPage(query.get('page')) ?? routes.operatorPage.path;
      const link = hasOperators ? undefined : { command: LINK_COMMAND };
      return page('Sign in', render('sign-in-form', { page: back, link }));
    },

    /** Returns the same answer for every address. The link is queued when this answer has been sent. */
    async requestSignIn({ raw, takeFromLimit, readForm }: ConsoleRequest): Promise<ConsoleAnswer> {
      // A forged request does not count, so that no other site can use up an operator's rate.
      const again = { back: routes.signInForm.path };
      const refusal = whyNotFromOurPage(raw);
      if (refusal !== undefined) return refuse(refusal, again);
      const rate = await takeFromLimit('signInMails');
      if (rate.exceeded) return refuse({ kind: 'linksTooOften', retryAfterSeconds: rate.resetSeconds }, again);
      const sent = await readForm();
      if (sent === undefined) return refuse({ kind: 'operatorButton' }, again);
      const given = { email: sent('email'), page: sent('page') };
      const afterwards = () => requestLink(given).catch((err) => log.error({ err }, 'sign-in mail not queued'));
      return { kind: 'redirect', to: routes.signInSent.path, afterwards };
    },

    signInSent: (): ConsoleAnswer => page('Check your mail', render('sign-in-sent', {})),

    /** Returns the same page for every token, so that it reveals nothing. */
    signInPage(request: ConsoleRequest): ConsoleAnswer {
      const path = pathTo(routes.signIn, request.values);
      return page('Sign in', render('sign-in', { path }));
    },

    async signIn({ raw, values, takeFromLimit }: ConsoleRequest): Promise<ConsoleAnswer> {
      const rate = await takeFromLimit('signIns');
      if (rate.exceeded) return refuse({ kind: 'signInTooOften', retryAfterSeconds: rate.resetSeconds });
      const refusal = whyNotFromOurPage(raw);
      if (refusal !== undefined) return refuse(refusal);
      const signedIn = await sessions.signIn(values.token ?? '', tokenOf(raw));
      if (signedIn === undefined) {
        return refuse({ kind: 'signInLinkNotGood' }, { link: { isMailed: hasOperators, command: LINK_COMMAND } });
      }
      return redirectWithCookie(signedIn.token, LIFETIME_MS / 1_000, returnPage(signedIn.page));
    },
  };
}
