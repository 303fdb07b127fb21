/**
 * What a form says to people when something is wrong with it or with sending it. The page that a
 * refused post comes back as and the script in the browser say the same words.
 */
import type { Field } from '../forms/catalog.ts';
import type { Fault } from '../forms/validate.ts';

export type FaultKind = Fault['kind'];

const KEPT = 'Everything you typed is still here.';

/** Words in braces are replaced: `{label}` of the field, `{count}`, `{maximum}`, `{recipient}`, `{wait}`, `{time}`. */
export const ourFormWords = {
  optional: '(optional)',
  error: 'Error:',
  summary: 'Please check what you entered',
  faults: {
    missing: 'Please fill in “{label}”.',
    missingChoice: 'Please choose an answer to “{label}”.',
    consent: 'Please tick the box: without your consent no updates can be sent.',
    notText: '“{label}” could not be read. Please type it again.',
    characters: '“{label}” holds characters that can’t be sent. Please type it again.',
    email: 'Please check “{label}”: it should look like name@example.com.',
    tooLong: '“{label}” is {count} characters long, and at most {maximum} fit. Please shorten it.',
  } satisfies Record<FaultKind | 'missingChoice' | 'consent', string>,
  notices: {
    limited: {
      title: 'Not sent yet',
      text: `The form has been sent several times from your connection, and there is a limit. ${KEPT} Please send it again in {wait}.`,
    },
    kept: {
      title: 'Your details are kept',
      text: `We could not pass them on to {recipient} yet, but we have them and will. You need not send them again.`,
    },
    left: {
      title: 'Your details are kept',
      text: `We could not pass them on to {recipient} by ourselves, but whoever runs this site has them. You need not send them again.`,
    },
    unconfirmed: {
      title: 'Your details may not have arrived',
      text: `We tried to pass them on to {recipient}, and got no confirmation that they arrived. ${KEPT} Please send it again in a moment. If the first one did arrive, they simply get it twice.`,
    },
    unsent: {
      title: 'Your details were not sent',
      text: `We could not pass them on to {recipient}. Nothing was sent. ${KEPT} Please send it again in a moment.`,
    },
    unavailable: {
      title: 'Nothing was sent',
      text: `This form can’t be sent at the moment. ${KEPT} Please send it again later.`,
    },
    offline: {
      title: 'You are offline',
      text: `Nothing was sent. ${KEPT} Please send it again when you are back online.`,
    },
    broken: {
      title: 'The connection broke off',
      text: `We can’t tell whether your details arrived. ${KEPT} Please check your connection and send it again.`,
    },
    sent: {
      title: 'You have sent this already',
      text: 'It was sent at {time}. You need not send it again, unless something in it was wrong or has changed.',
    },
    closed: {
      title: 'This form is closed for now',
      text: 'Nothing can be sent with it at the moment. Please come back later.',
    },
    refused: { title: 'This could not be sent', text: `Nothing was sent. ${KEPT}` },
  },
  contact: 'If it keeps happening, we are glad to help:',
  reference: 'Your reference:',
  sendAgain: 'Send again',
  sending: 'Sending…',
  slow: 'Still sending. Your connection or ours is slow just now; please keep this page open.',
  left: '{count} characters left',
  over: '{count} characters too many',
  suggestion: 'Did you mean {address}?',
  recipient: 'Your details go to',
  handled: 'How they are handled',
  /** `{privacy}` is the link, which says `privacy`. */
  consent: 'I agree to get updates by e-mail, as the {privacy} describes',
  privacy: 'privacy notice',
  honeypot: 'Leave this empty',
};

export type FormWords = typeof ourFormWords;

/** What became of a form that was not accepted, though its fields are in order. */
export type NoticeKind = keyof FormWords['notices'];

/** Takes words with names in braces and what they stand for; an unknown name stays as it is. */
export function fillIn(words: string, values: Readonly<Record<string, string | number>>): string {
  return words.replace(/\{(\w+)\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? String(values[name]) : whole,
  );
}

/** Takes a fault and its field; returns the sentence beside it, `{count}` left open. */
export function faultSentence(words: FormWords, field: Field, kind: FaultKind, lang: string) {
  const isOpenChoice = kind === 'missing' && field.kind === 'choice';
  return fillIn(words.faults[isOpenChoice ? 'missingChoice' : kind], {
    label: field.label,
    maximum: field.maximum.toLocaleString(lang),
  });
}

/** Takes seconds; returns whole minutes in words of that language, such as `12 minutes`. */
export function waitWords(seconds: number, lang: string): string {
  return inUnits(Math.ceil(seconds / 60), 'minute', lang);
}

/**
 * Takes seconds; returns them in words of that language, in the largest unit of which there is one or are at least
 * two, such as `90 seconds`, `15 minutes` or `24 hours`: never less than they are.
 */
export function shortWait(seconds: number, lang: string): string {
  for (const [unit, size] of [
    ['hour', 3600],
    ['minute', 60],
  ] as const) {
    if (seconds === size || seconds >= 2 * size) {
      return inUnits(Math.ceil(seconds / size), unit, lang);
    }
  }
  return inUnits(seconds, 'second', lang);
}

function inUnits(count: number, unit: 'hour' | 'minute' | 'second', lang: string): string {
  return new Intl.NumberFormat(lang, { style: 'unit', unit, unitDisplay: 'long' }).format(count);
}
