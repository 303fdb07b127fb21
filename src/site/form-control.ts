/**
 * Renders one field of a form: attributes, choices and error. The data attributes contain the texts and bounds for the
 * script in `assets/*.js`.
 */
import type { Field } from '../forms/catalog.ts';
import { lengthOf, normalize } from '../forms/fields.ts';
import { type FaultKind, type FormWords, faultSentence } from './form-words.ts';
import { fillIn } from './interpolate.ts';

type ControlContext = { isLast: boolean; words: FormWords; lang: string };

/** Attributes of an element. An undefined value leaves the attribute out. */
type Attributes = Readonly<Record<string, string | undefined>>;

export const idOf = (name: string) => `field-${name}`;

/**
 * Returns the id of the element around a label and its control, to which the error summary links. In WebKit (2.50) a
 * link to a control focuses it and sets no caret. A link to an element without focus works: one Tab leads on.
 */
export const anchorOf = (name: string) => `${name}-field`;

/** Returns the data of a field for `form.eta`. */
export function controlOf(field: Field, value: string, fault: FaultKind | undefined, context: ControlContext) {
  const { words, lang } = context;
  const id = idOf(field.name);
  const sentence = (kind: FaultKind) => faultSentence(words, field, kind, lang);
  const count = lengthOf(normalize(value, field.kind)).toLocaleString(lang);
  const error = fault && fillIn(sentence(fault), { count });
  const hintId = `${id}-hint`;
  const errorId = `${id}-error`;
  // WebMCP reads the description of radio buttons at their `<fieldset>`.
  const toolDescription = field.hint === undefined ? field.label : `${field.label}: ${field.hint}`;
  const describedBy = [field.hint && hintId, error && errorId].filter(Boolean).join(' ');
  const choices = choicesOf(field, value).map((choice, index) => ({
    id: `${id}-${index + 1}`,
    value: choice,
    checked: choice === value,
  }));
  const attributes: Attributes = {
    id,
    name: field.name,
    ...inputAttributes(field),
    required: field.required ? '' : undefined,
    'aria-describedby': describedBy || undefined,
    'aria-invalid': error === undefined ? undefined : 'true',
    ...keyboardAttributes(field, context.isLast),
    toolparamdescription: toolDescription,
    ...scriptData(field, sentence, words),
  };
  return {
    kind: field.kind === 'choice' ? 'choice' : field.kind === 'text' ? 'textarea' : 'input',
    id,
    anchor: anchorOf(field.name),
    field,
    hintId,
    errorId,
    error,
    describedBy,
    toolDescription,
    value,
    attributes: Object.entries(attributes).filter(([, given]) => given !== undefined),
    choices,
  };
}

const TYPES: Readonly<Record<Field['kind'], Attributes>> = {
  email: { type: 'email', inputmode: 'email' },
  phone: { type: 'tel', inputmode: 'tel' },
  line: { type: 'text' },
  code: { type: 'text' },
  text: { rows: '4' },
  choice: {},
};

/**
 * Returns the attributes of an `<input>`. The attributes omit `maxlength`, because it counts UTF-16 units and cuts
 * pasted text silently.
 */
function inputAttributes({ kind, autocomplete }: Field): Attributes {
  // Browsers show a telephone number from left to right in every script.
  return { ...TYPES[kind], dir: kind === 'phone' ? undefined : 'auto', autocomplete };
}

/** `autocapitalize` by `autocomplete`. */
const CAPITALS: Readonly<Record<string, string>> = {
  name: 'words',
  organization: 'words',
  'postal-code': 'characters',
};

/** Returns the attributes for the keyboard of a phone. */
function keyboardAttributes({ kind, autocomplete = '' }: Field, isLast: boolean): Attributes {
  return {
    // A spelling checker may send a text to another server, and can't help with addresses, numbers and codes.
    spellcheck: kind === 'line' || kind === 'text' ? undefined : 'false',
    autocapitalize: CAPITALS[autocomplete],
    // In other fields, the browser chooses whether Enter goes to the next field or adds a new line.
    enterkeyhint: isLast && kind !== 'text' ? 'send' : undefined,
  };
}

/** Returns the bounds and texts for the script. */
function scriptData(
  { kind, required, maximum }: Field,
  sentence: (kind: FaultKind) => string,
  words: FormWords,
): Attributes {
  const missing = { 'data-missing': required ? sentence('missing') : undefined };
  if (kind === 'choice') return missing;
  return {
    ...missing,
    'data-maximum': String(maximum),
    'data-too-long': sentence('tooLong'),
    'data-characters': sentence('characters'),
    'data-folded': kind === 'line' || kind === 'text' ? undefined : '',
    ...(kind === 'email' && { 'data-email': sentence('email'), 'data-suggestion': words.suggestion }),
    ...(kind === 'text' && { 'data-left': words.left, 'data-over': words.over }),
  };
}

/** Returns the offered choices and the sent value, because a choice accepts any line. */
function choicesOf({ kind, choices = [] }: Field, value: string): readonly string[] {
  const isOther = kind === 'choice' && value !== '' && !choices.includes(value);
  return isOther ? [...choices, value] : choices;
}
