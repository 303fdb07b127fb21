/** What a person reads on the page where they confirm (beyond §4); `content/words.yaml` of an operator replaces any. */

/** Words in braces are replaced: `{client}` who asks, `{destination}` who gets it, `{address}`, `{left}`, `{until}`. */
export const ourConfirmWords = {
  title: 'Your confirmation',
  only: 'Only continue if you asked {client} to do this',
  asks: 'Who asks',
  gets: 'Who gets your details',
  purpose: 'What for',
  heading: 'What will be sent',
  masked: 'What would be sent',
  statement: 'By pressing “Send” you say:',
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
};

export type ConfirmWords = typeof ourConfirmWords;
