import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type Field, fallbackForm, findForm, forms } from '../../src/forms/catalog.ts';
import { validate } from '../../src/forms/validate.ts';

const everyForm = Object.values(forms);
const everyField = everyForm.flatMap((form) =>
  form.fields.map((field): [string, Field] => [`${form.name} ${field.name}`, field]),
);

describe('forms (reference §1.2)', () => {
  test('have the audience, purpose, recipient, event and page of the table in the reference', () => {
    expect(
      Object.entries(forms).map(([key, form]) => [
        key,
        form.name,
        form.audience,
        form.purpose,
        form.receivedBy,
        form.event,
        form.page,
      ]),
      'Add a new form here and to the tables in reference §1.2 and §2.1. Other tests read the catalogue',
    ).toEqual([
      [
        'homeowner_quote',
        'homeowner_quote',
        'homeowner',
        'Request a quote from one vetted painting contractor',
        'contractor',
        'lead.created',
        'quote',
      ],
      [
        'contractor_signup',
        'contractor_signup',
        'contractor',
        'Request a walkthrough of the platform',
        'operator',
        'lead.created',
        'contractors',
      ],
      ['contact', 'contact', 'either', 'Send a message to the operator', 'operator', 'lead.created', 'contact'],
      ['newsletter', 'newsletter', 'either', 'Subscribe to updates', 'operator', 'subscriber.created', 'newsletter'],
    ]);
  });

  test('are found by their exact names only', () => {
    for (const form of everyForm) expect(findForm(form.name)).toBe(form);
    for (const name of ['', 'Contact', 'contact ', '__proto__', 'toString']) {
      expect(findForm(name)).toBeUndefined();
    }
  });

  test('include the newsletter as the default if a browser names no form (reference §4.2)', () => {
    expect(fallbackForm).toBe(forms.newsletter);
  });
});

describe('fields of a form', () => {
  test('have the kinds and limits of the table in reference §2.1', () => {
    const kinds = everyForm.flatMap((form) =>
      form.fields.map(({ name, kind, required, maximum }) => [form.name, name, kind, required ? 'yes' : 'no', maximum]),
    );
    expect(kinds.map(String).toSorted(), 'Change the table in reference §2.1').toEqual(documentedFields().toSorted());
  });

  test('have autocomplete tokens wherever HTML defines one for the value (WCAG 2.2, 1.3.5)', () => {
    const tokens = new Set(everyField.map(([, field]) => `${field.name} ${field.autocomplete}`));
    expect([...tokens].filter((each) => !each.endsWith(' undefined')).sort()).toEqual([
      'company organization',
      'email email',
      'name name',
      'phone tel',
      'postal_code postal-code',
    ]);
  });

  test.each(everyField)(
    '%s has a label without a full stop, and its hint, if present, is a sentence',
    (_name, field) => {
      expect(field.label).toMatch(/^[A-Z][^.]{3,}[^. ]$/);
      if (field.hint !== undefined) expect(field.hint).toMatch(/^[A-Z].{10,}\.$/);
    },
  );

  test('have hints for e-mail address, telephone number and postal code', () => {
    const explained = new Set(everyField.filter(([, { hint }]) => hint !== undefined).map(([, { name }]) => name));
    for (const name of ['email', 'phone', 'postal_code']) expect(explained).toContain(name);
  });

  test('of the kind choice offer at least four different choices, and one of these is the example', () => {
    const choices = everyField.filter(([, { kind }]) => kind === 'choice');
    expect(choices.length).toBeGreaterThan(0);
    for (const [name, field] of choices) {
      const offered = field.choices ?? [];
      expect(offered.length, name).toBeGreaterThanOrEqual(4);
      expect(new Set(offered).size, name).toBe(offered.length);
      for (const choice of offered) expect(choice, name).toMatch(/\S/);
      expect(offered, name).toContain(field.example);
    }
  });

  test.each(everyForm)('have valid examples in the form $name', (form) => {
    const examples = Object.fromEntries(form.fields.map(({ name, example }) => [name, example]));
    expect(validate(form, examples)).toEqual({ kind: 'valid', fields: examples });
  });

  test('have different labels and examples for the messages of different forms', () => {
    const messages = everyField.map(([, field]) => field).filter(({ name }) => name === 'message');
    expect(messages.length).toBeGreaterThan(1);
    expect(new Set(messages.map(({ label }) => label)).size).toBe(messages.length);
    expect(new Set(messages.map(({ example }) => example)).size).toBe(messages.length);
  });
});

/** Returns each field of the table in reference §2.1 as `form,field,kind,required,maximum`. */
function documentedFields(): string[] {
  const chapter = readFileSync('docs/reference/02-forms.md', 'utf8');
  const [, table = ''] = /\n## 2\.1 (.*?)\n## /s.exec(chapter) ?? [];
  const rows = [...table.matchAll(/^\| (?:`(\w+)` )?\| (`\w+`.*?) \| (\w+) \| (\w+) \| (\d+) \|$/gm)];
  let form = '';
  return rows.flatMap(([, newForm = form, names = '', ...rest]) => {
    form = newForm;
    return Array.from(names.matchAll(/\w+/g), ([name]) => [form, name, ...rest].join());
  });
}
