/**
 * Renders a form of the catalogue as HTML, after the patterns of the GOV.UK Design System. The form works without
 * JavaScript. A refused form contains the entered values and a sentence at each invalid value. `assets/*.js` uses its
 * templates.
 */

import { problems } from '../failures/catalogue.ts';
import { type Form, HONEYPOT } from '../forms/catalog.ts';
import { newId } from '../platform/random.ts';
import { routes } from '../routes.ts';
import { anchorOf, controlOf, idOf } from './form-control.ts';
import { type FaultKind, type FormWords, type NoticeKind, waitWords } from './form-words.ts';
import { contactHref, fillIn, isolated } from './interpolate.ts';
import type { StoredKind } from './stored-page.ts';
import { renderTemplate } from './templates.ts';
import { defaultWords } from './words.ts';

/** The values that a person entered, and the reasons why they were refused. */
export type Entered = {
  values?: Readonly<Record<string, string>>;
  /** Invalid values by the name of the field. */
  faults?: Readonly<Record<string, FaultKind>>;
  consentMissing?: boolean;
  notice?: {
    kind: NoticeKind;
    retryAfterSeconds?: number;
    sentence?: string;
  };
};

type FormContext = {
  /** Name of the recipient of the data (reference §2.9, `destination`). */
  recipient: string;
  /** Purpose of the data, such as "to prepare your quote". */
  use: string;
  /** Text of the button. */
  submit: string;
  /** Contact for help after a failure. */
  contact?: string | undefined;
  lang?: string;
  /** Attributes for the language of the form, if the page is in another language. */
  languageMark?: string;
  words?: FormWords;
  /** The page about a stored submission, for the script. */
  stored?: Record<StoredKind, string> | undefined;
};

/** Returns the `<form>` with the entered values. */
export function renderForm(form: Form, given: FormContext & Entered): string {
  const { values = {}, faults = {}, notice, contact, lang = 'en', words = defaultWords().form } = given;
  const controls = form.fields.map((field, index) => {
    const around = { isLast: index === form.fields.length - 1, words, lang };
    return controlOf(field, own(values, field.name) ?? '', own(faults, field.name), around);
  });
  // Only the newsletter's own route records the consent and sends the confirmation (reference §15.2).
  const subscribes = form.name === 'newsletter';
  const consent = {
    id: idOf('privacy'),
    anchor: anchorOf('privacy'),
    error: given.consentMissing ? words.faults.consent : undefined,
    missing: words.faults.consent,
    tool: 'Leave this out. Only the user can agree.',
    checked: own(values, 'privacy') !== undefined,
  };
  const summary = [
    ...controls.map(({ anchor, error }) => ({ anchor, sentence: error })),
    ...(subscribes ? [{ anchor: consent.anchor, sentence: consent.error }] : []),
  ].filter(({ sentence }) => sentence !== undefined);
  const recipient = isolated(given.recipient, lang);
  const noticeOf = (kind: NoticeKind, wait: string, sentence = '') => ({
    ...noticeWords(kind, words, kind === 'sent' ? undefined : contact),
    text: `${sentence} ${fillIn(words.notices[kind].text, { recipient, wait })}`,
  });
  const wait = waitWords(notice?.retryAfterSeconds ?? 0, lang);
  return renderTemplate('form', {
    languageMark: given.languageMark ?? '',
    recipient: given.recipient,
    use: given.use,
    submit: notice === undefined ? given.submit : words.sendAgain,
    words,
    // The script recognizes these refusals by their sentences.
    sentences: { kept: problems.kept.error, left: problems.left.error, unsent: problems.unsent.error },
    name: form.name,
    tool: `${form.purpose}. This fills in the form and sends nothing: the user checks every value and sends it.`,
    action: (subscribes ? routes.subscribeNewsletter : routes.submitLead).path,
    controls,
    honeypot: { name: HONEYPOT, id: idOf(HONEYPOT) },
    subscribes,
    consent,
    summary,
    notice: notice && noticeOf(notice.kind, wait, notice.sentence),
    stored: Object.entries(given.stored ?? {}),
    // Templates for the script. The notice of a closed form is no template, because only the server renders it.
    scriptNotices: (Object.keys(words.notices) as NoticeKind[])
      .filter((kind) => kind !== 'closed')
      .map((kind) => noticeOf(kind, '{wait}')),
    // This value distinguishes a second try from a double click (`intake/double-click.ts`).
    attempt: summary.length > 0 || notice !== undefined ? newId() : undefined,
  });
}

/** Returns the notice that replaces a form while the service answers 503 to it. */
export function renderClosedForm(given: Partial<FormContext>): string {
  const { contact, words = defaultWords().form, languageMark } = given;
  return renderTemplate('notice', { languageMark, ...noticeWords('closed', words, contact) });
}

function noticeWords(kind: NoticeKind, words: FormWords, contact: string | undefined) {
  return {
    ...words.notices[kind],
    kind,
    contactWords: words.contact,
    contact: contact === undefined ? undefined : { text: contact, href: contactHref(contact) },
  };
}

function own<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
