/** The part of the failure catalogue that is about the operator's console (beyond §7): see `catalogue.ts`. */
import type { RouteName } from '../routes.ts';
import { on } from './problem.ts';

const PRESSES: readonly RouteName[] = [
  'signIn',
  'signOut',
  'changeLead',
  'changePerson',
  'changeMessage',
];
const EXPORTS: readonly RouteName[] = ['operatorLeadsCsv', 'operatorLeadsJsonl', 'operatorPerson'];

/** Makes a link: the one way in. */
export const LINK_COMMAND = 'npm run operator -- link --name NAME';

const signIn = on(['signIn'], 'beyond §7');
const press = on(PRESSES, 'beyond §7');
const row = on(
  ['operatorLead', 'changeLead', 'operatorPerson', 'changePerson', 'changeMessage'],
  'beyond §7',
);

export const consoleProblems = {
  signInTooOften: signIn(429, 'That was a little too often.', {
    page: 'The link is as good as before. Wait {wait}, then press again.',
  }),
  signInLinkNotGood: signIn(403, 'This link does not sign anybody in.', {
    page: `A link works once, within 15 minutes. Make a new one on the server: ${LINK_COMMAND}`,
  }),
  operatorPressFromElsewhere: press(403, 'This was not pressed on our own page.', {
    page: 'Nothing has changed. Open the page again and press the button there.',
  }),
  operatorPressByAgent: press(403, 'An automated program pressed this, and only a person may.', {
    page: 'Nothing has changed. Open the page in your own browser.',
  }),
  operatorButton: press(400, 'That was none of the buttons of this page.', {
    page: 'Nothing has changed. Open the page again.',
  }),
  signInNotRecent: on([...EXPORTS, 'changePerson'], 'beyond §7')(
    403,
    'To export or to delete, sign in anew: your link is older than an hour.',
    { page: `Nothing has changed. Make a new link on the server: ${LINK_COMMAND}` },
  ),
  unknownRow: row(404, 'There is nothing with that reference, or nothing that can be done to it.', {
    page: 'It may have been dealt with or deleted meanwhile: open the page again.',
  }),
  rowUnderWay: on(['changeLead', 'changeMessage'], 'beyond §7')(
    409,
    'It is being sent at this moment.',
    { page: 'Nothing has changed. Open the page again in a moment: it says what happened.' },
  ),
  consoleUnavailable: on(
    [...PRESSES, ...EXPORTS, 'operatorPage', 'operatorLeads', 'operatorLead'],
    'beyond §7',
  )(503, 'The database can’t be reached at the moment.', {
    page: 'Open the page again in a moment: it says what happened.',
  }),
} as const;
