/**
 * The part of the failure catalogue that people read on pages: the confirmation page (reference §6), the pages of a
 * subscriber's two links (reference §9), and the operator console (reference §12).
 */
import type { RouteName } from '../routes.ts';
import { on, type Problem } from './problem.ts';
import type { ConsoleRefusal, NewsletterRefusal, PressRefusal } from './refusals.ts';

const press = on(['pressConfirmation'], '§6.10');
const confirmation = on(['confirmationPage', 'pressConfirmation'], '§6.8');

const TOO_OFTEN = 'That was a little too often.';
const FROM_ELSEWHERE = 'This was not pressed on our own page.';
const BY_AGENT = 'An automated program pressed this, and only a person may.';
const NO_SUCH_BUTTON = 'That was none of the buttons of this page.';
const SEE_AGAIN = 'Open the page again in a moment: it says what happened.';

/** Refusals on the page of a confirmation (reference §6.10). */
export const pressProblems = {
  pressTooOften: press(429, TOO_OFTEN, { page: 'Nothing has changed. Wait {wait}, then press again.' }),
  pressFromElsewhere: press(403, FROM_ELSEWHERE, {
    page: 'Nothing has changed. Open the link again and press the button there.',
  }),
  pressByAgent: press(403, BY_AGENT, { page: 'Nothing has changed. Open the link in your own browser.' }),
  unknownLink: confirmation(404, 'There is nothing to confirm at this address.', {
    page: 'The link may be incomplete, or too old. Ask whoever sent it for a new one.',
  }),
  unknownButton: press(400, NO_SUCH_BUTTON, { page: 'Nothing has changed. Open the link again.' }),
  pageTooOld: press(403, 'This page has been open for too long.', {
    page: 'Nothing was sent. Open the link again, look once more, and press then.',
  }),
  clientNotAllowed: press(403, 'Whoever asked for this may not send anything here any more.', {
    page: 'Nothing was sent.',
  }),
  destinationChanged: press(409, 'The recipient has changed since you were asked.', {
    page: 'Nothing was sent. Ask whoever sent you the link to start again.',
  }),
  sendingNotConfigured: press(503, 'Nothing can be sent on this site at the moment.', {
    page: 'Nothing was sent. The link stays good for as long as it says: try again later.',
  }),
  tooManyCodes: press(429, 'Too many codes were mailed.', {
    page: 'No other one was. Wait {wait}; you can still say no.',
  }),
  // The link expires before another code can be mailed, so the page names no time to wait.
  noFurtherCode: press(429, 'No further code can be mailed for this link.', {
    page: 'Nothing has changed. Open the page again: the newest code still counts, and you can still say no.',
  }),
  noCode: press(429, 'No code can be mailed for this link.', {
    page: 'Too many were mailed before. Nothing was sent, and you can still say no.',
  }),
  pressUnknown: confirmation(503, 'We can’t see at the moment what became of this.', {
    page: 'Open the link again in a moment: it says what happened. It is sent once at most.',
  }),
} satisfies Record<PressRefusal['kind'], Problem>;

const POSTS: readonly RouteName[] = [
  'signIn',
  'signOut',
  'changeLead',
  'changeLeads',
  'undoChange',
  'changeProgress',
  'changeNote',
  'seeReports',
  'changePerson',
  'changeMessage',
];
const EXPORTS: readonly RouteName[] = ['operatorLeadsCsv', 'operatorLeadsJsonl', 'operatorPerson'];

/** The command that makes a sign-in link. An operator can sign in only with such a link. */
export const LINK_COMMAND = 'npm run operator -- link --name NAME';

const signIn = on(['signIn'], '§12.2');
const posted = on(POSTS, '§12.4');
const recent = on([...EXPORTS, 'changePerson'], '§12.4');
const unavailable = on([...POSTS, ...EXPORTS, 'operatorPage', 'operatorLeads', 'operatorLead'], '§12.4');
const row = on(
  ['operatorLead', 'changeLead', 'changeProgress', 'changeNote', 'operatorPerson', 'changePerson', 'changeMessage'],
  '§12.4',
);

export const consoleProblems = {
  signInTooOften: signIn(429, TOO_OFTEN, { page: 'The link is as good as before. Wait {wait}, then press again.' }),
  signInLinkNotGood: signIn(403, 'This link does not sign anybody in.', {
    page: `A link works once, within 15 minutes. Make a new one on the server: ${LINK_COMMAND}`,
  }),
  operatorPressFromElsewhere: posted(403, FROM_ELSEWHERE, {
    page: 'Nothing has changed. Open the page again and press the button there.',
  }),
  operatorPressByAgent: posted(403, BY_AGENT, { page: 'Nothing has changed. Open the page in your own browser.' }),
  operatorButton: posted(400, NO_SUCH_BUTTON, { page: 'Nothing has changed. Open the page again.' }),
  signInNotRecent: recent(403, 'To export or to delete, sign in anew: your link is older than an hour.', {
    page: `Nothing has changed. Make a new link on the server: ${LINK_COMMAND}`,
  }),
  noLeadSelected: on(['changeLeads'], '§12.14')(400, 'Select 1 to 100 leads.', {
    page: 'Nothing has changed. Go back, tick the leads and press the button again.',
  }),
  unknownRow: row(404, 'There is nothing with that reference, or nothing that can be done to it.', {
    page: 'It may have been dealt with or deleted meanwhile: open the page again.',
  }),
  rowUnderWay: on(['changeLead', 'changeMessage'], '§12.4')(409, 'It is being sent at this moment.', {
    page: `Nothing has changed. ${SEE_AGAIN}`,
  }),
  consoleUnavailable: unavailable(503, 'The database can’t be reached at the moment.', { page: SEE_AGAIN }),
} satisfies Record<ConsoleRefusal['kind'], Problem>;

const confirming = on(['newsletterPage', 'confirmSubscription'], '§9.5');
const anyLink = on(['newsletterPage', 'confirmSubscription', 'leaveNewsletter'], '§9.7');

export const newsletterProblems = {
  newsletterTooOften: confirming(429, TOO_OFTEN, {
    page: 'Nothing has changed. Wait {wait}, then open the link again.',
  }),
  unknownSubscription: confirming(404, 'There is no subscription to confirm at this address.', {
    page: 'The link may be incomplete, or too old. If you still want updates, subscribe again: you get a new one.',
  }),
  newsletterUnknown: anyLink(503, 'This can’t be done at the moment.', {
    page: 'Wait {wait}, then open the link again, and press once more.',
  }),
} satisfies Record<NewsletterRefusal['kind'], Problem>;
