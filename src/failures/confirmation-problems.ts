/** The part of the failure catalogue that is about confirmations (beyond §4): see `catalogue.ts`. */
import { type RouteName, routes } from '../routes.ts';
import { on } from './problem.ts';

export const ASKING: readonly RouteName[] = ['createConfirmation'];
export const LOOKING: readonly RouteName[] = ['getConfirmation', 'cancelConfirmation'];
/** Execute, and asking for what it does. */
export const EXECUTING: readonly RouteName[] = ['executeAction', ...ASKING];

const asking = on(ASKING, 'beyond §4');
const press = on(['pressConfirmation'], 'beyond §4');

export const confirmationProblems = {
  confirmationPending: {
    ...on(['executeAction'], 'beyond §4')(
      409,
      'The user was asked on a page of ours and has not answered yet. Nothing was sent.',
      { tool: 'Wait {wait}, then call get_receipt with the id of the confirmation as action_id.' },
      'human_confirmation_required',
    ),
    retryable: true,
  },
  humanConfirmationRequired: on(['executeAction'], 'beyond §4')(
    409,
    'For this action the user confirms on a page of ours. Nothing was sent.',
    {
      tool: 'Call request_confirmation with the same preview_id, and give the user the confirmation_url.',
    },
    'human_confirmation_required',
  ),
  clientReported: on(EXECUTING, 'beyond §4')(
    403,
    'The owner of this mailbox has reported that they did not ask for this. Nothing was sent.',
    {
      route: 'Send nothing more for them here.',
      tool: 'Tell the user. Nothing can be sent for this e-mail address through this service.',
    },
  ),
  viaNotValid: asking(400, 'via must be page or page_email, and not less than this action takes.', {
    route: `confirmation_minimum in ${routes.getManifest.path} says what it takes.`,
    tool: 'Call this tool again without via.',
  }),
  codesNotConfigured: asking(
    503,
    'This deployment sends no mail, so that no code can be mailed. Nothing was asked.',
    { route: 'Ask with via page.', tool: 'Call this tool again with via page.' },
  ),
  tooManyPending: asking(429, 'Too many confirmations of this client are waiting for an answer.', {
    route: 'Wait {wait}, or cancel one.',
    tool: 'Wait {wait}, then call this tool again with the same arguments.',
  }),
  unknownConfirmation: on(LOOKING, 'beyond §4')(
    404,
    'There is no such confirmation for this client.',
  ),

  // What a person is told on their own page, beyond §4.
  pressTooOften: press(429, 'That was a little too often.', {
    page: 'Nothing has changed. Wait {wait}, then press again.',
  }),
  pressFromElsewhere: press(403, 'This was not pressed on our own page.', {
    page: 'Nothing has changed. Open the link again and press the button there.',
  }),
  pressByAgent: press(403, 'An automated program pressed this, and only a person may.', {
    page: 'Nothing has changed. Open the link in your own browser.',
  }),
  unknownLink: on(['confirmationPage', 'pressConfirmation'], 'beyond §4')(
    404,
    'There is nothing to confirm at this address.',
    { page: 'The link may be incomplete, or too old. Ask whoever sent it for a new one.' },
  ),
  unknownButton: press(400, 'That was none of the buttons of this page.', {
    page: 'Nothing has changed. Open the link again.',
  }),
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
  // The link ends before another code can be mailed: there is nothing to wait for.
  noFurtherCode: press(429, 'No further code can be mailed for this link.', {
    page: 'Nothing has changed. Open the page again: the newest code still counts, and you can still say no.',
  }),
  noCode: press(429, 'No code can be mailed for this link.', {
    page: 'Too many were mailed before. Nothing was sent, and you can still say no.',
  }),
  pressUnknown: on(['confirmationPage', 'pressConfirmation'], 'beyond §4')(
    503,
    'We can’t see at the moment what became of this.',
    { page: 'Open the link again in a moment: it says what happened. It is sent once at most.' },
  ),
} as const;
