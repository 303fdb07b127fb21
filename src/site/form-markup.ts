/**
 * A form of the catalogue as HTML, after the patterns of the GOV.UK Design System. It works without
 * JavaScript, and can come back with what was entered and a sentence at each fault. What the script
 * in `assets/*.js` needs to know, its words and bounds, stands in data attributes and templates.
 */
import { newId } from '../chance.ts';
import { problems } from '../failures/catalogue.ts';
import type { Field, Form } from '../forms/catalog.ts';
import { lengthOf, normalize } from '../forms/fields.ts';
import { HONEYPOT } from '../forms/honeypot.ts';
import { routes } from '../routes.ts';
import { isolated } from './direction.ts';
import {
  type FaultKind,
  type FormWords,
  faultSentence,
  fillIn,
  type NoticeKind,
  ourFormWords,
  waitWords,
} from './form-words.ts';
import { keyboardOf } from './keyboard.ts';
import { contactHref } from './placeholders.ts';
import { renderTemplate } from './templates.ts';

/** What someone entered before, and what became of it. */
export type Entered = {
  values?: Readonly<Record<string, string>>;
  /** By the name of the field. */
  faults?: Readonly<Record<string, FaultKind>>;
  consentMissing?: boolean;
  notice?: {
    kind: NoticeKind;
    retryAfterSeconds?: number;
    sentence?: string;
    reference?: string | undefined;
  };
};

type FormContext = {
  /** Who receives the data (contract §4, `destination`). */
  recipient: string;
  /** What for, as in "to prepare your quote". */
  use: string;
  /** What the button says. */
  submit: string;
  /** Whom to ask when something failed. */
  contact?: string | undefined;
  lang?: string;
  /** Of the words, where the page is in another language. */
  languageMark?: string;
  words?: FormWords;
};

/** Those that only the script can meet come as templates; the page itself never shows them. */
const SCRIPT_NOTICES = [
  'limited',
  'kept',
  'left',
  'unconfirmed',
  'unsent',
  'unavailable',
  'offline',
  'broken',
  'sent',
  'refused',
] as const;

/** Takes a form, its words and what was entered, if it was; returns the `<form>`. */
export function formMarkup(form: Form, given: FormContext & Entered): string {
  const { values = {}, faults = {}, notice, contact, lang = 'en', words = ourFormWords } = given;
  const controls = form.fields.map((field, index) => {
    const entered = { value: own(values, field.name) ?? '', fault: own(faults, field.name) };
    return control(field, entered, index === form.fields.length - 1, words, lang);
  });
  // Only the newsletter's own route records a consent and sends the confirmation (spec §4.7).
  const subscribes = form.name === 'newsletter';
  const consent = {
    id: idOf('privacy'),
    error: given.consentMissing ? words.faults.consent : undefined,
    missing: words.faults.consent,
    checked: own(values, 'privacy') !== undefined,
  };
  const summary = [
    ...controls.map(({ target, error }) => ({ target, sentence: error })),
    ...(subscribes ? [{ target: consent.id, sentence: consent.error }] : []),
  ].filter(({ sentence }) => sentence !== undefined);
  // What is kept needs no second try.
  const isKept = notice?.kind === 'kept' || notice?.kind === 'left';
  const noticeOf = (kind: NoticeKind, wait: string, sentence = '', reference = '') => ({
    kind,
    referenceWords: words.reference,
    reference,
    title: words.notices[kind].title,
    text: `${sentence} ${fillIn(words.notices[kind].text, { recipient: isolated(given.recipient, lang), wait })}`,
    contactWords: words.contact,
    // Where nothing failed there is nothing to ask.
    contact: kind === 'sent' ? undefined : contactLink(contact),
  });
  return renderTemplate('form', {
    languageMark: given.languageMark ?? '',
    recipient: given.recipient,
    use: given.use,
    submit: notice === undefined || isKept ? given.submit : words.sendAgain,
    words,
    // By these sentences the script knows them (`failures/catalogue.ts`).
    sentences: {
      kept: problems.kept.error,
      left: problems.left.error,
      unsent: problems.unsent.error,
    },
    name: form.name,
    action: (subscribes ? routes.subscribeNewsletter : routes.submitLead).path,
    controls,
    honeypot: { name: HONEYPOT, id: idOf(HONEYPOT) },
    subscribes,
    consent,
    summary,
    notice:
      notice &&
      noticeOf(
        notice.kind,
        waitWords(notice.retryAfterSeconds ?? 0, lang),
        notice.sentence,
        notice.reference,
      ),
    scriptNotices: SCRIPT_NOTICES.map((kind) => noticeOf(kind, '{wait}')),
    // A second try is told from a double click by this (`intake/double-click.ts`).
    attempt: summary.length > 0 || notice !== undefined ? newId() : undefined,
  });
}

/** Takes the same; returns what stands in the form's place where nothing can be sent (503). */
export function closedMarkup(given: Partial<FormContext>): string {
  const { contact, words = ourFormWords, languageMark } = given;
  return renderTemplate('notice', {
    languageMark,
    ...words.notices.closed,
    kind: 'closed',
    contactWords: words.contact,
    contact: contactLink(contact),
  });
}

function contactLink(contact: string | undefined) {
  return contact === undefined ? undefined : { text: contact, href: contactHref(contact) };
}

function control(
  field: Field,
  { value, fault }: { value: string; fault: FaultKind | undefined },
  isLast: boolean,
  words: FormWords,
  lang: string,
) {
  const id = idOf(field.name);
  const sentence = (kind: FaultKind) => faultSentence(words, field, kind, lang);
  const count = lengthOf(normalize(value)).toLocaleString(lang);
  const error = fault && fillIn(sentence(fault), { count });
  const hintId = `${id}-hint`;
  const errorId = `${id}-error`;
  const describedBy = [field.hint && hintId, error && errorId].filter(Boolean).join(' ');
  const choices = choicesOf(field, value).map((choice, index) => ({
    id: `${id}-${index + 1}`,
    value: choice,
    checked: choice === value,
  }));
  return {
    kind: field.kind === 'choice' ? 'choice' : field.kind === 'text' ? 'textarea' : 'input',
    id,
    // What the error summary links to: in a group of radios, the first.
    target: choices[0]?.id ?? id,
    field,
    hintId,
    errorId,
    error,
    describedBy,
    value,
    attributes: [
      ...attributesOf(field, id, describedBy, error !== undefined),
      ...keyboardOf(field, isLast),
      ...dataOf(field, sentence, words),
    ],
    choices,
  };
}

/** No `maxlength`: it counts UTF-16 units and cuts what is pasted without a word. */
function attributesOf(
  field: Field,
  id: string,
  describedBy: string,
  isWrong: boolean,
): [string, string][] {
  const attributes: [string, string][] = [
    ['id', id],
    ['name', field.name],
  ];
  if (field.kind === 'email') attributes.push(['type', 'email'], ['inputmode', 'email']);
  if (field.kind === 'phone') attributes.push(['type', 'tel'], ['inputmode', 'tel']);
  if (field.kind === 'line') attributes.push(['type', 'text']);
  if (field.kind === 'text') attributes.push(['rows', '4']);
  // A number is read from left to right in every script, which browsers know.
  if (field.kind !== 'phone') attributes.push(['dir', 'auto']);
  if (field.autocomplete !== undefined) attributes.push(['autocomplete', field.autocomplete]);
  if (field.required) attributes.push(['required', '']);
  if (describedBy !== '') attributes.push(['aria-describedby', describedBy]);
  if (isWrong) attributes.push(['aria-invalid', 'true']);
  return attributes;
}

/** What the script checks, and what it says. */
function dataOf(
  field: Field,
  sentence: (kind: FaultKind) => string,
  words: FormWords,
): [string, string][] {
  const data: [string, string][] = [];
  if (field.required) data.push(['data-missing', sentence('missing')]);
  if (field.kind === 'choice') return data;
  data.push(['data-maximum', String(field.maximum)], ['data-too-long', sentence('tooLong')]);
  data.push(['data-characters', sentence('characters')]);
  if (field.kind === 'email') {
    data.push(['data-email', sentence('email')], ['data-suggestion', words.suggestion]);
  }
  if (field.kind === 'text') data.push(['data-left', words.left], ['data-over', words.over]);
  return data;
}

/** A choice takes any line, so one that was sent without being offered is offered now. */
function choicesOf({ kind, choices = [] }: Field, value: string): readonly string[] {
  const isOther = kind === 'choice' && value !== '' && !choices.includes(value);
  return isOther ? [...choices, value] : choices;
}

function idOf(name: string): string {
  return `field-${name}`;
}

function own<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
