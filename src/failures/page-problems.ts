/**
 * The part of the failure catalogue that people read on pages: the confirmation page (reference §6), the pages of a
 * subscriber's two links (reference §9), and the operator console (reference §12).
 */
import type { RouteName } from '../routes.ts';
import { on, type Problem } from './problem.ts';
import type { ConsoleRefusal, NewsletterRefusal, PressRefusal } from './refusals.ts';

const press = on(['pressConfirmation'], '§6.10');
const confirmation = on(['confirmationPage', 'pressConfirmation'], '§6.8');

const TOO_OFTEN = 'You tried too often.';
const FROM_ELSEWHERE = 'This request did not come from our page.';
const NO_SUCH_BUTTON = 'This page has no such button.';
const SEE_AGAIN = 'Open the page again in a moment to see the result.';

/** Refusals on the page of a confirmation (reference §6.10). */
export const pressProblems = {
  pressTooOften: press(429, TOO_OFTEN, { page: 'Nothing has changed. Wait {wait}, then try again.' }),
  pressFromElsewhere: press(403, FROM_ELSEWHERE, {
    page: 'Nothing has changed. Open the link and use the button there.',
  }),
  pressByAgent: press(403, 'Only a person can confirm this.', {
    page: 'Nothing has changed. Open the link in your own browser.',
  }),
  unknownLink: confirmation(404, 'There is nothing to confirm at this address.', {
    page: 'The link may be incomplete or too old. Ask your assistant for a new one.',
  }),
  unknownButton: press(400, NO_SUCH_BUTTON, { page: 'Nothing has changed. Open the link again.' }),
  pageTooOld: press(403, 'This page has been open for too long.', {
    page: 'Nothing was sent. Open the link again and check your details before you send them.',
  }),
  clientNotAllowed: press(403, 'The assistant that asked for this may not send anything here.', {
    page: 'Nothing was sent.',
  }),
  destinationChanged: press(409, 'The recipient has changed since your assistant created this link.', {
    page: 'Nothing was sent. Ask your assistant to start again.',
  }),
  sendingNotConfigured: press(503, 'This site can’t send anything right now.', {
    page: 'Nothing was sent. Try again later. The page says how long the link is valid.',
  }),
  tooManyCodes: press(429, 'Too many codes were sent.', {
    page: 'Wait {wait} for another one. You can still decline.',
  }),
  // The link expires before another code can be mailed, so the page names no time to wait.
  noFurtherCode: press(429, 'We can’t send another code for this link.', {
    page: 'Nothing has changed. Open the page again. The newest code is still valid, and you can still decline.',
  }),
  noCode: press(429, 'We can’t send a code for this link.', {
    page: 'Too many codes were sent before. Your details were not sent, and you can still decline.',
  }),
  pressUnknown: confirmation(503, 'We can’t check the result right now.', {
    page: 'Open the link again in a moment to see the result. We send your details once at most.',
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
  'changeAgents',
  'changeConnections',
];
const EXPORTS: readonly RouteName[] = [
  'operatorLeadsCsv',
  'operatorLeadsJsonl',
  'operatorSubscribersCsv',
  'operatorPerson',
];

/** The command that makes a sign-in link. */
export const LINK_COMMAND = 'npm run operator -- link --name NAME';

const signIn = on(['signIn'], '§12.2');
const posted = on([...POSTS, 'requestSignIn'], '§12.4');
const fresh = on([...EXPORTS, 'changePerson', 'changeAgents'], '§12.4');
const unavailable = on([...POSTS, ...EXPORTS, 'operatorPage', 'operatorLeads', 'operatorLead'], '§12.4');
const row = on(
  [
    'operatorLead',
    'changeLead',
    'changeProgress',
    'changeNote',
    'operatorPerson',
    'changePerson',
    'changeMessage',
    'operatorAgents',
    'changeAgents',
    'changeConnections',
  ],
  '§12.4',
);

export const consoleProblems = {
  signInTooOften: signIn(429, TOO_OFTEN, {
    page: 'This attempt did not use up the link. Wait {wait}, then try again.',
  }),
  signInLinkNotGood: signIn(403, 'This sign-in link is invalid or used.', {
    page: 'A link works once, within 15 minutes. Get a new one.',
  }),
  linksTooOften: on(['requestSignIn'], '§12.16')(429, TOO_OFTEN, {
    page: 'No link was sent. Wait {wait}, then try again.',
  }),
  operatorPressFromElsewhere: posted(403, FROM_ELSEWHERE, {
    page: 'Nothing has changed. Open the page again and use the button there.',
  }),
  operatorPressByAgent: posted(403, 'Only a person can use this page.', {
    page: 'Nothing has changed. Open the page in your own browser.',
  }),
  operatorButton: posted(400, NO_SUCH_BUTTON, { page: 'Nothing has changed. Open the page again.' }),
  sessionNotFresh: fresh(403, 'You signed in more than an hour ago.', {
    page: 'Nothing has changed. Exports, deletions and changes of agents need a new sign-in link.',
  }),
  noLeadSelected: on(['changeLeads'], '§12.14')(400, 'Select 1 to 100 leads.', {
    page: 'Nothing has changed. Go back, tick the leads and press the button again.',
  }),
  unknownRow: row(404, 'This entry is gone or can’t be changed.', {
    page: 'Open the page again.',
  }),
  clientsNotEditable: on(['changeAgents'], '§12.17')(503, 'The service can’t change the credentials file.', {
    page: 'Nothing has changed. The log has the reason. Use the command on the server: npm run credentials -- --help',
  }),
  rowUnderWay: on(['changeLead', 'changeMessage'], '§12.4')(409, 'The service is sending this entry right now.', {
    page: `Nothing has changed. ${SEE_AGAIN}`,
  }),
  consoleUnavailable: unavailable(503, 'The service can’t reach its database right now.', { page: SEE_AGAIN }),
} satisfies Record<ConsoleRefusal['kind'], Problem>;

const confirming = on(['newsletterPage', 'confirmSubscription'], '§9.5');
const anyLink = on(['newsletterPage', 'confirmSubscription', 'leaveNewsletter'], '§9.7');

export const newsletterProblems = {
  newsletterTooOften: confirming(429, TOO_OFTEN, {
    page: 'Nothing has changed. Wait {wait}, then open the link again.',
  }),
  unknownSubscription: confirming(404, 'There is no subscription to confirm at this address.', {
    page: 'The link may be incomplete or too old. If you still want updates, subscribe again to get a new link.',
  }),
  newsletterUnknown: anyLink(503, 'We can’t do this right now.', {
    page: 'Wait {wait}, then open the link again and use the button there.',
  }),
} satisfies Record<NewsletterRefusal['kind'], Problem>;
