/** A submission as it is shown to who writes one, from the example of each field of the catalogue. */
import type { Form } from './catalog.ts';
import type { Fields } from './validate.ts';

/** Takes a form; returns a complete submission of it. */
export function exampleFields(form: Form): Fields {
  return Object.fromEntries(form.fields.map((field) => [field.name, field.example]));
}

/** Takes a form; returns the least that is taken. */
export function leastFields(form: Form): Fields {
  const required = form.fields.filter((field) => field.required);
  return Object.fromEntries(required.map((field) => [field.name, field.example]));
}
