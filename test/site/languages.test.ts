/** Sites in other languages: the complete German example, and text direction in Arabic. */
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { codeRenderer } from '../../src/confirmations/codes.ts';
import type { Confirmation } from '../../src/confirmations/confirmations.ts';
import { confirmationPage, refusedPage } from '../../src/confirmations/page.ts';
import { forms } from '../../src/forms/catalog.ts';
import { refusedPage as refusedSubscriber } from '../../src/newsletter/page.ts';
import type { SigningKeys } from '../../src/settings/signing-keys.ts';
import { readContentOverrides } from '../../src/site/content-overrides.ts';
import { shortWait } from '../../src/site/form-words.ts';
import { isolated } from '../../src/site/interpolate.ts';
import { defaultFrame } from '../../src/site/layout.ts';
import { defaultWords, mergeWords, type Words } from '../../src/site/words.ts';
import { call } from '../support/agent.ts';
import { formPages, leadForms } from '../support/forms.ts';
import { startService } from '../support/service.ts';

const folder = resolve(import.meta.dirname, '../../examples/content-de');
const german = readContentOverrides(folder).words;
const germanFrame = { ...defaultFrame(), words: german };
const operator = { name: 'Paint Match' };
const signingKeys = [Buffer.alloc(32, 7)] as unknown as SigningKeys;

/** Returns each text with its path. Skips `href`, which is the same in every language. */
function leaves(words: unknown, path = ''): [string, string][] {
  if (typeof words === 'string') return [[path, words]];
  if (typeof words !== 'object' || words === null) return [];
  return Object.entries(words).flatMap(([name, each]) => (name === 'href' ? [] : leaves(each, `${path}.${name}`)));
}

const asked = {
  client: 'Claude',
  destination: 'Farbe & Söhne',
  via: 'page',
  action: 'homeowner_quote',
  fields: JSON.stringify({ name: 'Ada', email: 'ada@example.com', postal_code: '10115' }),
  email: 'ada@example.com',
  expires_at: '2026-11-23T10:00:00.000Z',
  code_expires_at: '2026-11-23T10:00:00.000Z',
  code_number: 1,
  id: '018f0000-0000-7000-8000-000000000000',
  execution: { status: 'asked', created_at: '2026-11-23T09:00:00.000Z', settled_at: null },
} as unknown as Confirmation;
const now = new Date('2026-11-23T09:30:00.000Z');
const credentials = { labelOf: (name: string) => name };
const partsIn = (words: Words) => ({
  frame: () => ({ ...germanFrame, words }),
  operator: { ...operator, contact: undefined },
  signingKeys,
  credentials,
});

describe('German example', () => {
  test('translates every default text', () => {
    const own = new Map(leaves(german));
    const same = leaves(defaultWords()).filter(([path, text]) => text !== '' && own.get(path) === text);
    // Words that German has from English.
    expect(same.map(([path]) => path)).toEqual(['.contractor.labels.link']);
  });

  test.each(Object.values(forms))('translates every label, hint and choice of $name', ({ name, fields }) => {
    for (const field of fields) {
      const given = { ...german.fields[field.name], ...german.forms[name]?.[field.name] };
      expect([field.name, given.label]).not.toEqual([field.name, field.label]);
      expect([field.name, typeof given.label]).toEqual([field.name, 'string']);
      expect([field.name, given.hint === undefined]).toEqual([field.name, field.hint === undefined]);
      expect([field.name, given.choices?.length]).toEqual([field.name, field.choices?.length]);
    }
  });

  test('contains no English text on any page', async () => {
    const [ours, own] = await Promise.all([startService(), startService({ environment: { CONTENT_DIR: folder } })]);
    const posted = {
      method: 'POST',
      headers: { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' },
    };
    for (const path of [
      ...['/', ...formPages, '/privacy', '/thank-you'],
      '/nothing',
      '/newsletter/confirm/none',
      '/newsletter/leave/none',
      '/confirm/none',
      ...Object.values(forms).map(({ page }) => `from ${page}`),
      ...leadForms.map(({ name }) => `form=${name}&email=x`),
      `form=contact&message=${'x'.repeat(33_000)}`,
    ]) {
      const textsOf = async (service: typeof ours) => {
        const from = path.startsWith('from ') && path.slice('from '.length);
        const { text } = await (path.startsWith('form=')
          ? call(service, '/api/leads', { ...posted, body: path })
          : call(service, from ? '/thank-you' : path, {
              method: 'GET',
              headers: {
                accept: 'text/html',
                ...(from ? { referer: `${service.url}/${from}` } : {}),
              },
            }));
        expect([path.slice(0, 20), /<html lang="(\w+)"/.exec(text)?.[1]]).toEqual([
          path.slice(0, 20),
          service === own ? 'de' : 'en',
        ]);
        return text
          .replace(/<script.*?<\/script>/gs, '')
          .split(/<[^>]*>/)
          .map((each) => each.trim())
          .filter((each) => /\p{L}{2}/u.test(each));
      };
      const english = new Set(await textsOf(ours));
      const names = ['Paint Match', 'Vetted Painters'];
      const left = (await textsOf(own)).filter((each) => english.has(each) && !names.includes(each));
      expect([path.slice(0, 20), left]).toEqual([path.slice(0, 20), []]);
    }
    await ours.close();
    await own.close();
  });

  test('explains a refused click on a confirmation in German', () => {
    const { refused } = defaultWords().confirm;
    const kinds = Object.keys(refused) as (keyof typeof refused)[];
    for (const kind of kinds) {
      const refusal = { kind, retryAfterSeconds: 30 } as Parameters<typeof refusedPage>[1];
      const { html } = refusedPage(partsIn(german), refusal, 'secret');
      expect(html).toContain(`<h1>${german.confirm.refused[kind].title}</h1>`);
      expect(html).not.toContain(refused[kind].title);
      if (html.includes('Warten Sie')) expect(html).toContain('Warten Sie 30 Sekunden');
    }
    const again = { kind: 'newsletterTooOften', retryAfterSeconds: 1 } as const;
    expect(refusedSubscriber(partsIn(german), again).html).toContain('Warten Sie 1 Sekunde ');
  });

  test('states in German that a code was sent, and that a typed code is wrong', () => {
    const { confirm } = german;
    const masked = { ...asked, via: 'page_email', code_number: 2, wrong_codes: 0 } as Confirmation;
    const shown = { confirmation: masked, secret: 's', now };
    const out = confirmationPage(partsIn(german), shown);
    expect(out).toContain(`<h2>${confirm.anotherMailed}</h2>`);
    expect(out).toContain('>vor 1 Minute</time> an a•••@e•••.com. Nur dieser gilt.');
    expect(out).toContain('verschickte Codes: 2.');
    const none = confirmationPage(partsIn(german), { ...shown, left: 5 });
    expect(none).toContain('<title>Fehler: Ihre Bestätigung · Paint Match</title>');
    expect(none).toContain(`Fehler: </span>${confirm.wrong}</p>`);
    expect(none).toContain('Sie haben noch 5 Versuche.');
  });

  test.each([
    [1, '1 Sekunde'],
    [90, '90 Sekunden'],
    [60, '1 Minute'],
    [120, '2 Minuten'],
    [121, '3 Minuten'],
    [3599, '60 Minuten'],
    [3600, '1 Stunde'],
    [7199, '120 Minuten'],
    [7200, '2 Stunden'],
    [86_400, '24 Stunden'],
  ])('shows a wait of %i seconds as %s', (seconds, words) => {
    expect(shortWait(seconds, 'de')).toBe(words);
  });

  test('shows the confirmation page in German with the original statement marked as English', () => {
    const html = confirmationPage(partsIn(german), { confirmation: asked, secret: 's', now });
    expect(html).toContain('<strong lang="en" dir="ltr">I confirm that Service may');
    expect(html).toContain('Auf Deutsch: Ich bestätige');
    expect(html).toContain('Ein Angebot von einem geprüften Malerbetrieb anfragen');
    expect(html).not.toContain('Request a quote');
  });

  test('sends a code in German', async () => {
    const render = codeRenderer({
      confirmations: { find: async () => asked } as never,
      credentials,
      signingKeys,
      clock: { now: () => now } as never,
      words: () => german.confirm,
      operator: { name: 'Paint Match', contact: undefined },
      baseUrl: 'https://paint.example',
    });
    const letter = await render({ key: `${asked.id}.1`, sealed_secret: null } as never);
    expect(letter?.subject).toBe('Ihr Code für Paint Match');
    expect(letter?.text).toMatch(/^\d{6} ist Ihr Code\. Er gilt 10 Minuten\.\n\nClaude möchte/);
    expect(letter?.text).toContain('Wofür: Ein Angebot von einem geprüften');
    expect(letter?.text).not.toMatch(/\{|is your code|Only continue/);
  });
});

test('is rejected if its text for the code message lacks {code} or {page}', () => {
  expect(() => mergeWords('confirm: { message: { text: Hallo } }')).toThrow(
    'confirm: needs {code} and {page} in the text of its message',
  );
});

test('puts isolates around a name or number whose direction differs from the sentence', () => {
  expect(isolated('Paint Match', 'ar')).toBe('\u2068Paint Match\u2069');
  expect(isolated('+1 555 0100', 'he')).toBe('\u2068+1 555 0100\u2069');
  expect(isolated('طلاء', 'en')).toBe('\u2068طلاء\u2069');
  expect(isolated('طلاء', 'ar')).toBe('طلاء');
  expect(isolated('Müller & Söhne, Кисть, 塗装', 'de')).toBe('Müller & Söhne, Кисть, 塗装');
  const arabic = { ...mergeWords('lang: ar\nconfirm: { only: "تابع إذا طلبت من {client} ذلك" }') };
  const html = confirmationPage(partsIn(arabic), { confirmation: asked, secret: 's', now });
  expect(html).toContain('<html lang="ar" dir="rtl">');
  expect(html).toContain('من \u2068Claude\u2069 ذلك');
  expect(html).toContain('<dd><bdi>10115</bdi></dd>');
});
