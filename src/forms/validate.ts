/** Validates the values of a form (reference §2.1, §2.4, §2.10). */
import type { Field, Form } from './catalog.ts';
import { hasForbiddenCharacter, hasPiledMarks, isLongerThan, normalize, parseEmail } from './fields.ts';
import { isBlank } from './invisible-characters.ts';

/** Normalized values by field name, in the order of the declaration. */
export type Fields = Record<string, string>;

export type Fault = { field: Field; kind: 'missing' | 'notText' | 'characters' | 'email' | 'tooLong' };

export type Validation = { kind: 'valid'; fields: Fields } | { kind: 'invalid'; faults: Fault[] };

type RawValues = Readonly<Record<string, unknown>>;

/** Returns the normalized fields without empty optional fields, or every fault in declared order. */
export function validate(form: Form, raw: RawValues): Validation {
  const { fields, faults } = checkValues(form, raw);
  return faults.length === 0 ? { kind: 'valid', fields } : { kind: 'invalid', faults };
}

/**
 * Returns the normalized value of each valid field, and the fault of each other field, in declared order. Only own
 * properties of the raw values count, and unknown properties are ignored.
 */
export function checkValues(form: Form, raw: RawValues): { fields: Fields; faults: Fault[] } {
  const fields: Fields = {};
  const faults: Fault[] = [];
  for (const field of form.fields) {
    const value = Object.hasOwn(raw, field.name) ? raw[field.name] : undefined;
    const checked = checkValue(field, value);
    if (typeof checked === 'string') fields[field.name] = checked;
    else if (checked !== undefined) faults.push(checked);
  }
  return { fields, faults };
}

/** Names that a header can repeat as they are (reference §5.3). */
const PLAIN_NAME = /^[A-Za-z0-9_-]{1,100}$/;
const IGNORED_MAXIMUM = 20;

/** Returns the first 20 names of unknown properties that consist of at most 100 letters, digits, `_` and `-`. */
export function ignoredNames({ fields }: Form, raw: RawValues): string[] {
  const ignored: string[] = [];
  for (const name of Object.keys(raw)) {
    if (ignored.length === IGNORED_MAXIMUM) break;
    if (PLAIN_NAME.test(name) && !fields.some((field) => field.name === name)) ignored.push(name);
  }
  return ignored;
}

/** Returns the normalized value or its fault. Returns undefined for an empty value of an optional field. */
export function checkValue(field: Field, value: unknown): string | Fault | undefined {
  if (value === undefined) return field.required ? { field, kind: 'missing' } : undefined;
  if (typeof value !== 'string') return { field, kind: 'notText' };
  const text = normalize(value, field.kind);
  if (hasForbiddenCharacter(field.kind, text)) return { field, kind: 'characters' };
  if (isBlank(text)) return field.required ? { field, kind: 'missing' } : undefined;
  if (field.kind === 'email') return checkEmail(field, text);
  if (isLongerThan(field.maximum, text)) return { field, kind: 'tooLong' };
  return hasPiledMarks(text) ? { field, kind: 'characters' } : text;
}

/** Returns the address or the fault. A long address has the fault `email`, not `tooLong` (reference §2.7). */
function checkEmail(field: Field, text: string): string | Fault {
  const address = parseEmail(text);
  if (address === undefined || address.length > field.maximum) return { field, kind: 'email' };
  return address;
}

/** Returns the names of the missing required fields, for `fields` in the answers of the form routes. */
export function missingNames(faults: readonly Fault[]): string[] {
  return faults.filter((fault) => fault.kind === 'missing').map((fault) => fault.field.name);
}

const faultWords = {
  missing: 'is missing',
  notText: 'must be a string',
  characters: 'holds characters that can’t be used',
  email: 'is not a valid e-mail address',
} as const;

/** Returns a sentence about a fault, for a person. The sentence never repeats the value. */
export function describeFault({ field: { name, maximum }, kind }: Fault): string {
  return `${name} ${kind === 'tooLong' ? `is longer than ${maximum} characters` : faultWords[kind]}.`;
}
