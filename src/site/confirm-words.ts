/** What a person reads on the page where they confirm (beyond §4); `content/words.yaml` of an operator replaces any. */

import { confirmationProblems } from '../failures/confirmation-problems.ts';
import type { Problem } from '../failures/problem.ts';
import { forms } from '../forms/catalog.ts';

const refusedAs = (kind: keyof typeof confirmationProblems) => {
  const { sentence, next } = confirmationProblems[kind] as Problem;
  return { title: sentence, text: next.page ?? '' };
};

/** What the text of the message with a code must say, in whatever language. */
export const CODE = '{code}';

/**
 * Words in braces are replaced: `{client}` who asks, `{destination}` who gets it, `{address}`, `{left}`,
 * `{count}`, `{until}`, `{at}`, `{wait}`; in the message `{code}`, `{minutes}`, `{purpose}`, `{operator}`, `{site}`. */
export const ourConfirmWords = {
  title: 'Your confirmation',
  only: 'Only continue if you asked {client} to do this',
  asks: 'Who asks',
  gets: 'Who gets your details',
  purpose: 'What for',
  heading: 'What will be sent',
  masked: 'What would be sent',
  statement: 'By pressing “Send” you say:',
  /** In another language: the same once more, because the statement itself is the specification's (spec §4.5). */
  statementMeans: '',
  until: 'You can answer until {until}.',
  send: 'Send to {destination}',
  sendNote: 'Exactly what stands above goes to {destination}, once.',
  decline: 'Don’t send',
  declineNote: 'Nothing is sent, and {client} is told so.',
  report: 'I did not ask for this',
  reportNote:
    'Nothing is sent. {client} can send nothing more for this e-mail address, and whoever runs this site is told.',
  codeHeading: 'First show that it is you',
  codeText:
    'Your details are hidden until you type the code that we mail to {address}. Nothing is sent by that.',
  mailCode: 'Mail me a code',
  mailAnother: 'Mail me another code',
  codeLabel: 'Code from the message',
  codeHint: 'Six digits. They are good for ten minutes.',
  check: 'Show my details',
  codeMailed: 'A code was mailed',
  anotherMailed: 'Another code was mailed',
  newest: 'The newest code went to {address} on {at}. Only that one counts.',
  mailedSoFar: 'Codes mailed for this link so far: {count}.',
  toCode: 'Type the code',
  wrong: 'That is not the code.',
  wrongLeft: 'You can try {left} more times. Then this link ends, and nothing is sent.',
  wrongLast: 'You can try once more. Then this link ends, and nothing is sent.',
  hidden: 'hidden',
  back: 'Open the page again',
  reload: 'See what became of it',
  reference: 'Reference:',
  ends: {
    executing: {
      title: 'It is being sent',
      text: 'Your details are on their way to {destination}. This takes a few seconds.',
    },
    submitted: {
      title: 'Sent',
      text: 'Your details went to {destination} on {at}. {client} is told so.',
    },
    failed: {
      title: 'It may not have arrived',
      text: '{destination} did not confirm on {at} that your details arrived. Ask {client} to start again.',
    },
    declined: {
      title: 'Not sent',
      text: 'You said no on {at}. Nothing was sent to {destination}.',
    },
    reported: {
      title: 'Not sent, and reported',
      text: 'You said on {at} that you did not ask for this. Nothing was sent to {destination}, and {client} can send nothing more for your e-mail address.',
    },
    expired: {
      title: 'This link has ended',
      text: 'Nothing was sent to {destination}. If you still want it, ask {client} to start again.',
    },
  },
  /** What for, by action: the manifest keeps the specification's words. */
  purposes: {
    homeowner_quote: forms.homeowner_quote.purpose,
    contractor_signup: forms.contractor_signup.purpose,
    contact: forms.contact.purpose,
    newsletter: forms.newsletter.purpose,
  },
  /** What is said where a button did nothing. */
  refused: {
    pressTooOften: refusedAs('pressTooOften'),
    pressFromElsewhere: refusedAs('pressFromElsewhere'),
    pressByAgent: refusedAs('pressByAgent'),
    unknownLink: refusedAs('unknownLink'),
    unknownButton: refusedAs('unknownButton'),
    pageTooOld: refusedAs('pageTooOld'),
    clientNotAllowed: refusedAs('clientNotAllowed'),
    destinationChanged: refusedAs('destinationChanged'),
    sendingNotConfigured: refusedAs('sendingNotConfigured'),
    tooManyCodes: refusedAs('tooManyCodes'),
    noFurtherCode: refusedAs('noFurtherCode'),
    noCode: refusedAs('noCode'),
    pressUnknown: refusedAs('pressUnknown'),
  },
  message: {
    subject: 'Your code for {operator}',
    text: `{code} is your code. It is good for {minutes} minutes.

{client} wants to send your details to {destination}.
What for: {purpose}

Only continue if you asked {client} to do this. If you did not, do
nothing, or open the page and press "I did not ask for this". Never
tell anybody the code, and type it on this site alone:
{site}

This message was sent automatically because somebody asked for a code
on that page.

{operator}
`,
  },
};

export type ConfirmWords = typeof ourConfirmWords;
