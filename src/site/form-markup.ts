/**
 * A form of the catalogue as HTML, after the patterns of the GOV.UK Design System. It works without
 * JavaScript, and can come back with what was entered and a sentence at each fault.
 */
import type { Field, Form } from '../forms/catalog.ts';
import { renderTemplate } from './templates.ts';

/** What someone entered before, and what is wrong with it, by field name. */
export type Entered = {
  values?: Readonly<Record<string, string>>;
  errors?: Readonly<Record<string, string>>;
};

type FormWords = {
  /** Who receives the data (contract §4, `destination`). */
  recipient: string;
  /** What for, as in "to prepare your quote". */
  use: string;
  /** What the button says. */
  submit: string;
};

type Control = {
  kind: 'input' | 'textarea' | 'choice';
  id: string;
  /** What the error summary links to: in a group of radios, the first. */
  target: string;
  field: Field;
  hintId: string;
  errorId: string;
  error: string | undefined;
  describedBy: string;
  value: string;
  attributes: [string, string][];
  choices: { id: string; value: string; checked: boolean }[];
};

/** Takes a form, its words and what was entered, if it was; returns the `<form>`. */
export function formMarkup(form: Form, given: FormWords & Entered): string {
  const { values = {}, errors = {}, ...words } = given;
  const controls = form.fields.map((field) => control(field, own(values, field.name), errors));
  // Only the newsletter's own route records a consent and sends the confirmation (spec §4.7).
  const subscribes = form.name === 'newsletter';
  const consent = {
    id: idOf('privacy'),
    error: own(errors, 'privacy'),
    checked: own(values, 'privacy') !== undefined,
  };
  const summary = [
    ...controls.map(({ target, error }) => ({ target, sentence: error })),
    ...(subscribes ? [{ target: consent.id, sentence: consent.error }] : []),
  ].filter(({ sentence }) => sentence !== undefined);
  return renderTemplate('form', {
    ...words,
    name: form.name,
    action: subscribes ? '/api/subscribe' : '/api/leads',
    controls,
    subscribes,
    consent,
    summary,
  });
}

function control(field: Field, value: string | undefined, errors: Entered['errors'] = {}): Control {
  const id = idOf(field.name);
  const error = own(errors, field.name);
  const hintId = `${id}-hint`;
  const errorId = `${id}-error`;
  const describedBy = [
    ...(field.hint === undefined ? [] : [hintId]),
    ...(error === undefined ? [] : [errorId]),
  ].join(' ');
  const choices = choicesOf(field, value).map((choice, index) => ({
    id: `${id}-${index + 1}`,
    value: choice,
    checked: choice === value,
  }));
  return {
    kind: field.kind === 'choice' ? 'choice' : field.kind === 'text' ? 'textarea' : 'input',
    id,
    target: choices[0]?.id ?? id,
    field,
    hintId,
    errorId,
    error,
    describedBy,
    value: value ?? '',
    attributes: attributesOf(field, id, describedBy, error !== undefined),
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
  if (field.kind === 'text') attributes.push(['rows', '5']);
  if (field.autocomplete !== undefined) attributes.push(['autocomplete', field.autocomplete]);
  if (!isProse(field)) attributes.push(['spellcheck', 'false']);
  if (field.required) attributes.push(['required', '']);
  if (describedBy !== '') attributes.push(['aria-describedby', describedBy]);
  if (isWrong) attributes.push(['aria-invalid', 'true']);
  return attributes;
}

/** Addresses, numbers and codes are not for the spelling checker, which may send them elsewhere. */
function isProse(field: Field): boolean {
  return (field.kind === 'line' || field.kind === 'text') && field.autocomplete !== 'postal-code';
}

/** A choice takes any line, so one that was sent without being offered is offered now. */
function choicesOf(field: Field, value: string | undefined): string[] {
  const offered = [...(field.choices ?? [])];
  const isOther = value !== undefined && value !== '' && !offered.includes(value);
  return field.kind === 'choice' && isOther ? [...offered, value] : offered;
}

function idOf(name: string): string {
  return `field-${name}`;
}

function own(record: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
