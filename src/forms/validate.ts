/** Raw values in; normalized fields or faults out (spec §2.1, §8; contract §4, "Normalization"). */
import type { Field, Form } from './catalog.ts';
import {
  hasForbiddenCharacter,
  hasPiledMarks,
  isBlank,
  isLongerThan,
  normalize,
  parseEmail,
} from './fields.ts';

/** Normalized values by field name, in the order of the declaration. */
export type Fields = Record<string, string>;

export type Fault = { field: Field } & (
  | { kind: 'missing' }
  | { kind: 'notText' }
  | { kind: 'characters' }
  | { kind: 'email' }
  | { kind: 'tooLong' }
);

export type Validation = { kind: 'valid'; fields: Fields } | { kind: 'invalid'; faults: Fault[] };

/**
 * Takes a form and raw values by name (own properties alone count, unknown ones are ignored).
 * Returns the normalized fields, empty optional ones dropped, or every fault in declared order.
 */
export function validate(form: Form, raw: Readonly<Record<string, unknown>>): Validation {
  const fields: Fields = {};
  const faults: Fault[] = [];
  for (const field of form.fields) {
    const value = Object.hasOwn(raw, field.name) ? raw[field.name] : undefined;
    const checked = checkValue(field, value);
    if (typeof checked === 'string') fields[field.name] = checked;
    else if (checked !== undefined) faults.push(checked);
  }
  return faults.length === 0 ? { kind: 'valid', fields } : { kind: 'invalid', faults };
}

function checkValue(field: Field, value: unknown): string | Fault | undefined {
  if (value === undefined) return field.required ? { field, kind: 'missing' } : undefined;
  if (typeof value !== 'string') return { field, kind: 'notText' };
  const text = normalize(value);
  if (hasForbiddenCharacter(field.kind, text)) return { field, kind: 'characters' };
  if (isBlank(text)) return field.required ? { field, kind: 'missing' } : undefined;
  if (field.kind === 'email') return checkEmail(field, text);
  if (isLongerThan(field.maximum, text)) return { field, kind: 'tooLong' };
  return hasPiledMarks(text) ? { field, kind: 'characters' } : text;
}

/** An address over its bound is no valid address (contract §4). */
function checkEmail(field: Field, text: string): string | Fault {
  const address = parseEmail(text);
  if (address === undefined || address.length > field.maximum) return { field, kind: 'email' };
  return address;
}

/** The names of the required fields that are missing, as `fields` of the form routes lists them. */
export function missingNames(faults: readonly Fault[]): string[] {
  return faults.filter((fault) => fault.kind === 'missing').map((fault) => fault.field.name);
}

/** One short sentence about a fault, fit to show a person; it never repeats the input. */
export function describeFault(fault: Fault): string {
  const name = fault.field.name;
  switch (fault.kind) {
    case 'missing':
      return `${name} is missing.`;
    case 'notText':
      return `${name} must be a string.`;
    case 'characters':
      return `${name} holds characters that can’t be used.`;
    case 'email':
      return `${name} is not a valid e-mail address.`;
    case 'tooLong':
      return `${name} is longer than ${fault.field.maximum} characters.`;
  }
}
