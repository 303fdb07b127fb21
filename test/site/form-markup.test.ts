import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Form, forms } from '../../src/forms/catalog.ts';
import { type Entered, renderForm } from '../../src/site/form-markup.ts';

const words = { recipient: 'Coat & Co', use: 'to prepare your quote', submit: 'Send it' };
const everyForm = Object.values(forms);

/** Returns the opening tags with this element name, in order. */
function tags(html: string, name: string): string[] {
  return html.match(new RegExp(`<${name}\\b[^>]*>`, 'g')) ?? [];
}

function attribute(tag: string, name: string): string | undefined {
  return new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];
}

function values(html: string, tag: string, name: string): string[] {
  return tags(html, tag).flatMap((found) => attribute(found, name) ?? []);
}

/** Returns the tags of the controls with this name. */
function controls(html: string, name: string): string[] {
  return [...tags(html, 'input'), ...tags(html, 'textarea')].filter((tag) => attribute(tag, 'name') === name);
}

describe.each(everyForm)('the form $name', (form: Form) => {
  const html = renderForm(form, words);

  test('has controls only for the catalogue’s fields, the form or consent, and the honeypot', () => {
    const sent = new Set([...values(html, 'input', 'name'), ...values(html, 'textarea', 'name')]);
    const own = form.name === 'newsletter' ? ['privacy'] : ['form'];
    expect([...sent].sort()).toEqual([...form.fields.map((field) => field.name), ...own, 'bot-field'].sort());
  });

  test('has exactly one label for every visible control', () => {
    const ids = [...tags(html, 'input'), ...tags(html, 'textarea')]
      .filter((tag) => attribute(tag, 'type') !== 'hidden')
      .map((tag) => attribute(tag, 'id'));
    expect(new Set(ids).size).toBe(ids.length);
    expect(values(html, 'label', 'for').sort()).toEqual(ids.sort());
  });

  test('refers only to descriptions that exist', () => {
    const described = [...html.matchAll(/aria-describedby="([^"]*)"/g)].flatMap(([, ids]) => ids?.split(' ') ?? []);
    expect(described).toHaveLength(form.fields.filter((field) => field.hint).length);
    for (const id of described) expect(html).toContain(`id="${id}"`);
  });

  test('requires the catalogue’s required fields, marks the others as optional and preselects nothing', () => {
    for (const field of form.fields) {
      const required = controls(html, field.name).map((tag) => / required\b/.test(tag));
      expect(new Set(required), field.name).toEqual(new Set([field.required]));
    }
    const optional = form.fields.filter((field) => !field.required);
    expect(html.match(/\(optional\)/g) ?? []).toHaveLength(optional.length);
    expect(html).not.toMatch(/ checked\b/);
  });

  test('states the recipient and the purpose right before the button', () => {
    expect(html).toMatch(
      /<strong><bdi>Coat &amp; Co<\/bdi><\/strong>, to prepare your quote\.[^<]*<a href="\/privacy">[^<]*<\/a><\/p>\s*<button[^>]*>Send it<\/button>/,
    );
  });

  test('describes itself and each control to an assistant in the browser, which may not send it', () => {
    const [tag = ''] = tags(html, 'form');
    expect(attribute(tag, 'toolname')).toBe(form.name);
    expect(attribute(tag, 'tooldescription')).toMatch(new RegExp(`^${form.purpose}\\. .*the user checks every value`));
    for (const { name, kind, label, hint = label } of form.fields) {
      // Radio buttons are described at the element around them.
      const [described = ''] =
        kind === 'choice'
          ? tags(html, 'fieldset').filter((each) => each.includes(`"${name}-field"`))
          : controls(html, name);
      const words = attribute(described, 'toolparamdescription');
      expect([words?.startsWith(label), words?.endsWith(hint)], name).toEqual([true, true]);
    }
    expect(html).not.toContain('toolautosubmit');
  });

  test('hides the honeypot from view, assistive technology and the keyboard', () => {
    expect(html).toContain('<div class="bot-field" aria-hidden="true">');
    const [honeypot = ''] = controls(html, 'bot-field');
    expect(attribute(honeypot, 'type')).toBe('text');
    expect(attribute(honeypot, 'tabindex')).toBe('-1');
    expect(attribute(honeypot, 'autocomplete')).toBe('off');
  });

  test('excludes the honeypot from password managers', () => {
    const [honeypot = ''] = controls(html, 'bot-field');
    expect(honeypot).toMatch(/ data-1p-ignore data-bwignore[ >]/);
    expect(attribute(honeypot, 'data-lpignore')).toBe('true');
    expect(attribute(honeypot, 'data-form-type')).toBe('other');
  });

  test('contains no inline style, script or maxlength', () => {
    expect(html).not.toMatch(/ style=| on\w+=|<script|maxlength/);
  });
});

test('excludes the honeypots of the embedded forms from password managers', () => {
  const embed = readFileSync(join(import.meta.dirname, '../../content/embed.md'), 'utf8');
  const honeypots = embed.match(/<input name="bot-field"[^>]*>/g) ?? [];
  expect(honeypots).toHaveLength(2);
  for (const honeypot of honeypots) {
    expect(attribute(honeypot, 'tabindex')).toBe('-1');
    expect(attribute(honeypot, 'autocomplete')).toBe('off');
    expect(honeypot).toMatch(/ data-1p-ignore data-bwignore[ >]/);
    expect(attribute(honeypot, 'data-lpignore')).toBe('true');
    expect(attribute(honeypot, 'data-form-type')).toBe('other');
  }
});

test('posts a lead’s form name to /api/leads and the newsletter’s consent to /api/subscribe', () => {
  const lead = renderForm(forms.contact, words);
  expect(lead).toContain('method="post" action="/api/leads"');
  expect(lead).toContain('<input type="hidden" name="form" value="contact">');

  const newsletter = renderForm(forms.newsletter, words);
  expect(newsletter).toContain('method="post" action="/api/subscribe"');
  expect(newsletter).not.toContain('name="form"');
  const [consent = ''] = controls(newsletter, 'privacy');
  expect(attribute(consent, 'value')).toBe('yes');
  expect(consent).toContain(' required');
});

test('sets the keyboard and disables the spelling checker for e-mail, telephone and postal code', () => {
  const html = renderForm(forms.homeowner_quote, words);
  const [email = ''] = controls(html, 'email');
  const [phone = ''] = controls(html, 'phone');
  const [postalCode = ''] = controls(html, 'postal_code');
  expect([attribute(email, 'type'), attribute(email, 'inputmode')]).toEqual(['email', 'email']);
  expect([attribute(phone, 'type'), attribute(phone, 'inputmode')]).toEqual(['tel', 'tel']);
  for (const tag of [email, phone, postalCode]) expect(attribute(tag, 'spellcheck')).toBe('false');
  expect(attribute(postalCode, 'autocomplete')).toBe('postal-code');
});

describe('form with invalid values', () => {
  const html = renderForm(forms.homeowner_quote, {
    ...words,
    values: { name: '"><b>Ada', message: '</textarea><script>', timeline: 'In spring "maybe"' },
    faults: { email: 'email', project_type: 'missing' },
  });

  test('shows the entered values, escaped', () => {
    expect(html).toContain('value="&quot;&gt;&lt;b&gt;Ada"');
    expect(html).toContain('>\n&lt;/textarea&gt;&lt;script&gt;</textarea>');
    expect(html).not.toMatch(/<script|<b>/);
  });

  test('adds and selects a sent choice that the form did not offer', () => {
    expect(html).toMatch(/value="In spring &quot;maybe&quot;" checked>/);
  });

  test('shows each error at its field and in a summary that links to the field', () => {
    expect(html).toContain(
      '<a href="#email-field">Please check “E-mail address”: it should look like name@example.com.</a>',
    );
    expect(html).toContain('<a href="#project_type-field">Please choose an answer to “What is to be painted?”.</a>');
    const [email = ''] = controls(html, 'email');
    expect(attribute(email, 'aria-invalid')).toBe('true');
    expect(attribute(email, 'aria-describedby')).toBe('field-email-hint field-email-error');
    expect(html).toContain(
      '<fieldset class="field wrong" id="project_type-field" aria-describedby="field-project_type-error" ',
    );
  });

  test('gives each field a unique anchor that differs from the id of its control', () => {
    for (const form of Object.values(forms)) {
      const ids = [...renderForm(form, words).matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id);
      expect(new Set(ids).size).toBe(ids.length);
      const names = form.fields.map(({ name }) => `${name}-field`);
      expect(ids).toEqual(expect.arrayContaining(names));
    }
  });

  test('ignores inherited properties of values and faults', () => {
    const inherited = Object.create({ email: 'inherited@example.com' }) as Record<string, string>;
    const other = renderForm(forms.newsletter, {
      ...words,
      values: inherited,
      faults: inherited as never,
    });
    expect(other).not.toContain('inherited');
  });
});

test('a choice with characters that nobody may send gets their sentence, and not that of a missing choice', () => {
  const html = renderForm(forms.homeowner_quote, { ...words, faults: { project_type: 'characters' } });
  expect(html).toMatch(/<a href="#project_type-field">(?!Please choose)[^<]*What is to be painted/);
});

test('the keyboard of a phone begins words of a company with capitals', () => {
  const [company = ''] = controls(renderForm(forms.contractor_signup, words), 'company');
  expect(attribute(company, 'autocapitalize')).toBe('words');
});

test('the consent box is ticked if the person ticked it before, and has an error if consent is missing', () => {
  const kept = renderForm(forms.newsletter, { ...words, values: { privacy: 'yes' } });
  expect(controls(kept, 'privacy')[0]).toContain(' checked');
  const missing = renderForm(forms.newsletter, { ...words, consentMissing: true });
  expect(missing).toContain('<a href="#privacy-field">Please tick the box');
  expect(controls(missing, 'privacy')[0]).toContain('aria-describedby="field-privacy-error"');
});

test('the summary states the length of a long value under the field’s label, without repeating the value', () => {
  const labelled: Form = {
    ...forms.contact,
    fields: forms.contact.fields.map((field) => ({ ...field, label: `<b>${field.label}` })),
  };
  const html = renderForm(labelled, {
    ...words,
    values: { message: `${'🎨'.repeat(2_010)}\r\n` },
    faults: { message: 'tooLong', name: 'missing', subject: 'characters' },
  });
  expect(html).toContain('“&lt;b&gt;Message” has 2,010 characters, and the limit is 2,000.');
  expect(html).toContain('Please fill in “&lt;b&gt;Full name”.');
  expect(html).not.toContain('<b>');
  expect(html.match(/🎨/gu)).toHaveLength(2_010);
});

describe('form with valid values that was not accepted', () => {
  const refused = (notice: Entered['notice'], contact?: string) =>
    renderForm(forms.homeowner_quote, { ...words, contact, ...(notice && { notice }) });

  test.each([
    ['limited', /Not sent yet[\s\S]*send it again in 12 minutes/],
    ['unconfirmed', /may not have arrived[\s\S]*to Coat &amp; Co, but got no confirmation/],
    ['unsent', /were not sent[\s\S]*to Coat &amp; Co\. Nothing was sent\. (?![\s\S]*twice)/],
    ['unavailable', /Nothing was sent[\s\S]*send it again later/],
  ] as const)('explains the outcome %s and offers to send again', (kind, says) => {
    const html = refused({ kind, retryAfterSeconds: 661 }, '+1 555 0100');
    expect(html.slice(0, html.indexOf('<template'))).toMatch(says);
    expect(html).toMatch(/role="alert" tabindex="-1" autofocus/);
    expect(html).toContain('<button class="button" type="submit">Send again</button>');
    expect(html).toContain('<a href="tel:+15550100"><bdi>+1 555 0100</bdi></a>');
  });

  test('shows the contact in the notices of failures for the script, and not after the form was sent', () => {
    const notices = [...refused(undefined, '+1 555 0100').matchAll(/data-notice="(\w+)">(.*?)<\/template>/gs)];
    const without = notices.filter(([, , html = '']) => !html.includes('tel:')).map(([, kind]) => kind);
    expect([notices.length, without]).toEqual([10, ['summary', 'filled', 'sent']]);
  });

  test('shows no contact if none is set', () => {
    expect(refused({ kind: 'unconfirmed' })).not.toMatch(/tel:|mailto:/);
  });

  test('contains a new `send-again` value each time, so that a repeated send does not count as a double click', () => {
    const values = [1, 2].map(() => controls(refused({ kind: 'unconfirmed' }), 'send-again')[0]);
    expect(attribute(values[0] ?? '', 'value')).toMatch(/^[0-9a-f-]{36}$/);
    expect(values[0]).not.toBe(values[1]);
    expect(refused(undefined)).not.toContain('send-again"');
  });
});

test('fields set the capitalization of a phone’s keyboard, and the last field sets a send key', () => {
  const inputs = (form: Form) => tags(renderForm(form, words), 'input');
  const of = (form: Form, name: string) => controls(renderForm(form, words), name)[0] ?? '';
  const { homeowner_quote: quote, contact, newsletter } = forms;
  expect(attribute(of(quote, 'name'), 'autocapitalize')).toBe('words');
  expect(attribute(of(quote, 'postal_code'), 'autocapitalize')).toBe('characters');
  const sending = [quote, contact, newsletter].map((form) =>
    inputs(form).filter((tag) => attribute(tag, 'enterkeyhint') === 'send'),
  );
  expect(sending.map((found) => found.map((tag) => attribute(tag, 'name')))).toEqual([[], ['phone'], ['email']]);
});

test('the e-mail field of each form has a different hint', () => {
  const hints = Object.values(forms).map(({ fields }) => fields.find(({ name }) => name === 'email')?.hint);
  expect(new Set(hints).size).toBe(hints.length);
  expect(hints).not.toContain(undefined);
});

test('no other template describes a form to an assistant in the browser', () => {
  const source = join(import.meta.dirname, '../../src');
  const files = globSync(['site/templates/*.eta', 'console/templates/*.eta'], { cwd: source });
  const described = files.filter((file) => readFileSync(join(source, file), 'utf8').includes('toolname'));
  expect([files.length > 20, described]).toEqual([true, ['site/templates/form.eta']]);
});
