import { describe, expect, test } from 'vitest';
import { type Form, forms } from '../../src/forms/catalog.ts';
import { type Entered, formMarkup } from '../../src/site/form-markup.ts';

const words = { recipient: 'Coat & Co', use: 'to prepare your quote', submit: 'Send it' };
const everyForm = Object.values(forms);

/** The opening tags of a name, in order. */
function tags(html: string, name: string): string[] {
  return html.match(new RegExp(`<${name}\\b[^>]*>`, 'g')) ?? [];
}

function attribute(tag: string, name: string): string | undefined {
  return new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];
}

function values(html: string, tag: string, name: string): string[] {
  return tags(html, tag).flatMap((found) => attribute(found, name) ?? []);
}

/** The tags of the controls of that name. */
function controls(html: string, name: string): string[] {
  return [...tags(html, 'input'), ...tags(html, 'textarea')].filter(
    (tag) => attribute(tag, 'name') === name,
  );
}

describe.each(everyForm)('the form $name', (form: Form) => {
  const html = formMarkup(form, words);

  test('has a control for every field of the catalogue and for nothing else', () => {
    const sent = new Set([...values(html, 'input', 'name'), ...values(html, 'textarea', 'name')]);
    const own = form.name === 'newsletter' ? ['privacy'] : ['form'];
    expect([...sent].sort()).toEqual(
      [...form.fields.map((field) => field.name), ...own, 'bot-field'].sort(),
    );
  });

  test('labels every control that can be seen, and every label has its control', () => {
    const ids = [...tags(html, 'input'), ...tags(html, 'textarea')]
      .filter((tag) => attribute(tag, 'type') !== 'hidden')
      .map((tag) => attribute(tag, 'id'));
    expect(new Set(ids).size).toBe(ids.length);
    expect(values(html, 'label', 'for').sort()).toEqual(ids.sort());
  });

  test('ties every description to an element that is there', () => {
    const described = [...html.matchAll(/aria-describedby="([^"]*)"/g)].flatMap(
      ([, ids]) => ids?.split(' ') ?? [],
    );
    expect(described).toHaveLength(form.fields.filter((field) => field.hint).length);
    for (const id of described) expect(html).toContain(`id="${id}"`);
  });

  test('requires what the catalogue requires, marks the rest optional, and preselects nothing', () => {
    for (const field of form.fields) {
      const required = controls(html, field.name).map((tag) => / required\b/.test(tag));
      expect(new Set(required), field.name).toEqual(new Set([field.required]));
    }
    const optional = form.fields.filter((field) => !field.required);
    expect(html.match(/\(optional\)/g) ?? []).toHaveLength(optional.length);
    expect(html).not.toMatch(/ checked\b/);
  });

  test('says who receives the data, and what for, right before the button', () => {
    expect(html).toMatch(
      /<strong><bdi>Coat &amp; Co<\/bdi><\/strong>, to prepare your quote\.[^<]*<a href="\/privacy">[^<]*<\/a><\/p>\s*<button[^>]*>Send it<\/button>/,
    );
  });

  test('hides the honeypot from sight, from assistive technology and from the keyboard', () => {
    expect(html).toContain('<div class="bot-field" aria-hidden="true">');
    const [honeypot = ''] = controls(html, 'bot-field');
    expect(attribute(honeypot, 'type')).toBe('text');
    expect(attribute(honeypot, 'tabindex')).toBe('-1');
    expect(attribute(honeypot, 'autocomplete')).toBe('off');
  });

  test('holds no inline style, no script and no maxlength', () => {
    expect(html).not.toMatch(/ style=| on\w+=|<script|maxlength/);
  });
});

test('A lead posts its name to the lead route, the newsletter its consent to its own', () => {
  const lead = formMarkup(forms.contact, words);
  expect(lead).toContain('method="post" action="/api/leads"');
  expect(lead).toContain('<input type="hidden" name="form" value="contact">');

  const newsletter = formMarkup(forms.newsletter, words);
  expect(newsletter).toContain('method="post" action="/api/subscribe"');
  expect(newsletter).not.toContain('name="form"');
  const [consent = ''] = controls(newsletter, 'privacy');
  expect(attribute(consent, 'value')).toBe('yes');
  expect(consent).toContain(' required');
});

test('E-mail, telephone and postal code get the right keyboard and no spelling checker', () => {
  const html = formMarkup(forms.homeowner_quote, words);
  const [email = ''] = controls(html, 'email');
  const [phone = ''] = controls(html, 'phone');
  const [postalCode = ''] = controls(html, 'postal_code');
  expect([attribute(email, 'type'), attribute(email, 'inputmode')]).toEqual(['email', 'email']);
  expect([attribute(phone, 'type'), attribute(phone, 'inputmode')]).toEqual(['tel', 'tel']);
  for (const tag of [email, phone, postalCode]) expect(attribute(tag, 'spellcheck')).toBe('false');
  expect(attribute(postalCode, 'autocomplete')).toBe('postal-code');
});

describe('a form that was refused', () => {
  const html = formMarkup(forms.homeowner_quote, {
    ...words,
    values: { name: '"><b>Ada', message: '</textarea><script>', timeline: 'In spring "maybe"' },
    faults: { email: 'email', project_type: 'missing' },
  });

  test('keeps what was entered, escaped', () => {
    expect(html).toContain('value="&quot;&gt;&lt;b&gt;Ada"');
    expect(html).toContain('>\n&lt;/textarea&gt;&lt;script&gt;</textarea>');
    expect(html).not.toMatch(/<script|<b>/);
  });

  test('offers and selects a choice that was sent without being offered', () => {
    expect(html).toMatch(/value="In spring &quot;maybe&quot;" checked>/);
  });

  test('says each fault at its field and in a summary that links to it', () => {
    expect(html).toContain(
      '<a href="#field-email">Please check “E-mail address”: it should look like name@example.com.</a>',
    );
    expect(html).toContain(
      '<a href="#field-project_type-1">Please choose an answer to “What is to be painted?”.</a>',
    );
    const [email = ''] = controls(html, 'email');
    expect(attribute(email, 'aria-invalid')).toBe('true');
    expect(attribute(email, 'aria-describedby')).toBe('field-email-hint field-email-error');
    expect(html).toContain(
      '<fieldset class="field wrong" aria-describedby="field-project_type-error">',
    );
  });

  test('takes values and faults by their own names alone', () => {
    const inherited = Object.create({ email: 'inherited@example.com' }) as Record<string, string>;
    const other = formMarkup(forms.newsletter, {
      ...words,
      values: inherited,
      faults: inherited as never,
    });
    expect(other).not.toContain('inherited');
  });
});

test('A refused subscription keeps the consent, or says that it is missing', () => {
  const kept = formMarkup(forms.newsletter, { ...words, values: { privacy: 'yes' } });
  expect(controls(kept, 'privacy')[0]).toContain(' checked');
  const missing = formMarkup(forms.newsletter, { ...words, consentMissing: true });
  expect(missing).toContain('<a href="#field-privacy">Please tick the box');
  expect(controls(missing, 'privacy')[0]).toContain('aria-describedby="field-privacy-error"');
});

test('A fault says how long the value is, in the field’s own words, and never what it is', () => {
  const labelled: Form = {
    ...forms.contact,
    fields: forms.contact.fields.map((field) => ({ ...field, label: `<b>${field.label}` })),
  };
  const html = formMarkup(labelled, {
    ...words,
    values: { message: `${'🎨'.repeat(2_010)}\r\n` },
    faults: { message: 'tooLong', name: 'missing', subject: 'characters' },
  });
  expect(html).toContain('“&lt;b&gt;Message” is 2,010 characters long, and at most 2,000 fit.');
  expect(html).toContain('Please fill in “&lt;b&gt;Full name”.');
  expect(html).not.toContain('<b>');
  expect(html.match(/🎨/gu)).toHaveLength(2_010);
});

describe('a form that was in order and not accepted', () => {
  const refused = (notice: Entered['notice'], contact?: string) =>
    formMarkup(forms.homeowner_quote, { ...words, contact, ...(notice && { notice }) });

  test.each([
    ['limited', /Not sent yet[\s\S]*send it again in 12 minutes/],
    ['unconfirmed', /may not have arrived[\s\S]*to Coat &amp; Co, and got no confirmation/],
    ['unsent', /were not sent[\s\S]*to Coat &amp; Co\. Nothing was sent\. (?![\s\S]*twice)/],
    ['unavailable', /Nothing was sent[\s\S]*send it again later/],
  ] as const)('says what became of it: %s', (kind, says) => {
    const html = refused({ kind, retryAfterSeconds: 661 }, '+1 555 0100');
    expect(html.slice(0, html.indexOf('<template'))).toMatch(says);
    expect(html).toMatch(/role="alert" tabindex="-1" autofocus/);
    expect(html).toContain('<button class="button" type="submit">Send again</button>');
    expect(html).toContain('<a href="tel:+15550100"><bdi>+1 555 0100</bdi></a>');
  });

  test('names no contact it has not', () => {
    expect(refused({ kind: 'unconfirmed' })).not.toMatch(/tel:|mailto:/);
  });

  test('carries a value of its own each time, so that sending it again is no double click', () => {
    const values = [1, 2].map(() => controls(refused({ kind: 'unconfirmed' }), 'send-again')[0]);
    expect(attribute(values[0] ?? '', 'value')).toMatch(/^[0-9a-f-]{36}$/);
    expect(values[0]).not.toBe(values[1]);
    expect(refused(undefined)).not.toContain('send-again"');
  });
});

test('tells the keyboard of a telephone what to write, and that the last key sends', () => {
  const inputs = (form: Form) => tags(formMarkup(form, words), 'input');
  const of = (form: Form, name: string) => controls(formMarkup(form, words), name)[0] ?? '';
  const { homeowner_quote: quote, contact, newsletter } = forms;
  expect(attribute(of(quote, 'name'), 'autocapitalize')).toBe('words');
  expect(attribute(of(quote, 'postal_code'), 'autocapitalize')).toBe('characters');
  const sending = [quote, contact, newsletter].map((form) =>
    inputs(form).filter((tag) => attribute(tag, 'enterkeyhint') === 'send'),
  );
  expect(sending.map((found) => found.map((tag) => attribute(tag, 'name')))).toEqual([
    [],
    ['phone'],
    ['email'],
  ]);
});

test('says at each form what the address is for', () => {
  const hints = Object.values(forms).map(
    ({ fields }) => fields.find(({ name }) => name === 'email')?.hint,
  );
  expect(new Set(hints).size).toBe(4);
  expect(hints).not.toContain(undefined);
});
