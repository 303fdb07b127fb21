import { describe, expect, test } from 'vitest';
import { problems } from '../../src/failures/catalogue.ts';
import { StorageUnavailable } from '../../src/storage/database.ts';
import { shortReference } from '../../src/submissions/submission.ts';
import { multipart, natives, post, postRaw } from '../support/forms.ts';
import { scenario } from '../support/scenario.ts';
import { freshAddress, startService } from '../support/service.ts';
import { answering } from '../support/upstream.ts';

const at = scenario({ OPERATOR_CONTACT: 'help@paint.example' });
const quote = {
  form: 'homeowner_quote',
  name: 'Ada <b>"Lovelace"</b>',
  email: 'ada@example.com',
  postal_code: '94110',
  phone: '555-0100',
  project_type: 'Exterior',
  message: 'First line\nsecond </textarea>',
};

/** Removes the templates that the page's script uses. */
function shown(html: string): string {
  return html.replace(/<template[\s\S]*?<\/template>/g, '');
}

/** Expects all typed values in the page, escaped. */
function expectKept(html: string) {
  expect(html).toContain('value="Ada &lt;b&gt;&quot;Lovelace&quot;&lt;/b&gt;"');
  expect(html).toContain('value="94110"');
  expect(html).toContain('value="555-0100"');
  expect(html).toMatch(/value="Exterior" checked/);
  expect(html).toMatch(/>\nFirst line\r?\nsecond &lt;\/textarea&gt;<\/textarea>/);
  expect(html).toContain('action="/api/leads"');
}

describe.each(natives)('page for a refused %s form', (encoding) => {
  test('400: links from a summary to the fields, and names each field by its label', async () => {
    const { text } = await post(at.service, '/api/leads', encoding, {
      ...quote,
      email: 'ada@example',
      postal_code: ' ',
    });
    expect(text).toContain('<title>Error: Request a quote');
    expect(text).toContain('<a href="#postal_code-field">Please fill in “Postal code”.</a>');
    expect(text).toContain('<a href="#email-field">Please check “E-mail address”:');
    expect(text.match(/class="error" id="field-(email|postal_code)-error"/g)).toHaveLength(2);
    expect(text).not.toMatch(/postal_code is missing|email is not/);
    expect(text).toContain('Request my quote</button>');
  });

  test('413: contains a text over 2,000 characters in full, and names its length', async () => {
    const message = 'é'.repeat(2_100);
    const answer = await post(at.service, '/api/leads', encoding, { ...quote, message });
    expect(answer.status).toBe(413);
    expect(answer.text).toContain('has 2,100 characters, and the limit is 2,000.');
    expect(answer.text).toContain(`>\n${message}</textarea>`);
  });

  test('413: contains the value over the limit of its field and all other values, and names that limit', async () => {
    const signup = {
      form: 'contractor_signup',
      name: 'Ada Lovelace',
      email: 'ada@example.com',
      company: 'Lovelace Painting',
      company_size: '2 to 5',
      message: 'How do leads reach us?',
      phone: '5'.repeat(51),
    };
    const answer = await post(at.service, '/api/leads', encoding, signup);
    expect(answer.status).toBe(413);
    expect(answer.text).toContain('<title>Error: ');
    expect(shown(answer.text)).toContain('<a href="#phone-field">');
    expect(answer.text).toContain('has 51 characters, and the limit is 50.');
    expect(answer.text.match(/class="error" id=/g)).toHaveLength(1);
    for (const value of [signup.name, signup.email, signup.company, signup.phone]) {
      expect(answer.text).toContain(`value="${value}"`);
    }
    expect(answer.text).toMatch(/value="2 to 5" checked/);
    expect(answer.text).toContain(`>\n${signup.message}</textarea>`);
  });

  test('429: says that nothing was sent and when to retry, and contains all values', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    for (let count = 0; count < 5; count += 1) {
      await post(at.service, '/api/leads', 'json', quote, headers);
    }
    const answer = await post(at.service, '/api/leads', encoding, quote, headers);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '900']);
    expect(shown(answer.text)).toMatch(/Not sent yet[\s\S]*send it again in 15 minutes/);
    expect(answer.text).toContain('>Send again</button>');
    expectKept(answer.text);
  });

  test.each([
    [500, 'Vetted Painters has not confirmed your request yet. We send it again automatically until it arrives.'],
    [422, 'We could not pass your request on automatically. The operator of this site, Paint Match, takes care of it.'],
  ])('502 if the upstream answers %i: says that we have the request, and what happens next', async (status, step) => {
    at.upstream.answer = answering(status);
    const answer = await post(at.service, '/api/leads', encoding, quote);
    expect(answer.status).toBe(502);
    const id = String(at.upstream.delivered.at(-1)?.headers['webhook-id']);
    expect(answer.headers.get('submission-reference')).toBe(id);
    const { text } = answer;
    expect(text).toContain('<title>We have your request · Paint Match</title>');
    expect(text.match(/<h1[^>]*>([^<]*)/g)).toEqual(['<h1 tabindex="-1">We have your request']);
    expect(text).toContain(`Your reference: <code>${shortReference(id)}</code>`);
    expect(text).toContain(`<h2>What happens next</h2>\n<ol>\n<li>${step}</li>`);
    expect(text).toContain('Allow two working days.');
    expect(text).toContain('mailto:help@paint.example');
    expect(text).not.toMatch(/<form|error|Lovelace/i);
    expect(text).not.toContain(id);
  });

  test.each([500, 422])(
    '502 for a subscription if the upstream answers %i: has no reference and no time of an answer',
    async (status) => {
      at.upstream.answer = answering(status);
      const subscription = { email: `ada+${encoding}@example.com`, privacy: 'on' };
      const headers = { 'x-forwarded-for': freshAddress() };
      const { status: answered, text } = await post(at.service, '/api/subscribe', encoding, subscription, headers);
      expect(answered).toBe(502);
      expect(text).toContain('<h1 tabindex="-1">We have your request</h1>');
      expect(text).toContain('<h2>What happens next</h2>');
      expect(text).toContain('mailto:help@paint.example');
      expect(text).not.toMatch(/<form|error|<code>|reference:|working days|minutes/i);
    },
  );

  test('502 while the store is unavailable: says that the form may not have arrived, and contains all values', async () => {
    at.upstream.answer = answering(500);
    const { storage } = at.service.parts;
    const { read } = storage;
    storage.read = () => Promise.reject(new StorageUnavailable('The store is away.'));
    const answer = await post(at.service, '/api/leads', encoding, quote);
    storage.read = read;
    expect(answer.status).toBe(502);
    expect(shown(answer.text)).toMatch(/may not have arrived[\s\S]*Vetted Painters/);
    expect(answer.headers.get('submission-reference')).toBeNull();
    expect(answer.text).toContain('>Send again</button>');
    expectKept(answer.text);
  });

  test('502 if neither store nor upstream was reached: says that nothing was sent, and contains all values', async () => {
    const unreached = await startService({ environment: { UPSTREAM_URL: 'http://127.0.0.1:1/' } });
    unreached.parts.storage.read = () => Promise.reject(new StorageUnavailable('away'));
    const subscription = { email: 'ada@example.com', privacy: 'on' };
    const [answer, json, newsletter] = await Promise.all([
      post(unreached, '/api/leads', encoding, quote),
      post(unreached, '/api/leads', 'json', quote),
      post(unreached, '/api/subscribe', encoding, subscription),
    ]);
    await unreached.close();
    expect([answer.status, json.status, newsletter.status]).toEqual([502, 502, 503]);
    expect(shown(answer.text)).toMatch(/were not sent[\s\S]*Vetted Painters\. Nothing was sent/);
    expect(shown(newsletter.text)).toContain('Nothing was sent');
    expect(shown(answer.text)).not.toMatch(/twice|may not have arrived|ECONN/);
    expect(json.body).toEqual({ error: problems.unsent.error });
    expectKept(answer.text);
  });

  test('503: contains all values if submissions are not configured', async () => {
    const unconfigured = await startService({ environment: { UPSTREAM_URL: '' } });
    const answer = await post(unconfigured, '/api/leads', encoding, quote);
    expect(answer.status).toBe(503);
    expect(shown(answer.text)).toMatch(/Nothing was sent[\s\S]*send it again later/);
    expectKept(answer.text);
    await unconfigured.close();
  });

  test('400 and 429: contains the e-mail address of a refused subscription', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    const send = (fields: Record<string, string>) => post(at.service, '/api/subscribe', encoding, fields, headers);
    const withoutConsent = await send({ email: 'ada@example.com' });
    expect(withoutConsent.text).toContain('<a href="#privacy-field">Please tick the box');
    expect(withoutConsent.text).toContain('value="ada@example.com"');
    const wrong = await send({ email: 'ada@', privacy: 'on' });
    expect(wrong.text).toContain('<a href="#email-field">Please check');
    expect(wrong.text).toMatch(/name="privacy"[^>]* checked/);
    for (let count = 0; count < 3; count += 1) await send({ email: 'nope' });
    const often = await send({ email: 'ada@example.com', privacy: 'on' });
    expect(often.status).toBe(429);
    expect(shown(often.text)).toMatch(/Not sent yet[\s\S]*value="ada@example.com"/);
  });
});

test('page for a refused subscription is the newsletter page, even if the subscription names another form', async () => {
  const fields = { form: 'contact', email: 'ada@example.com', subject: 'Hello' };
  const { status, text } = await post(at.service, '/api/subscribe', 'urlencoded', fields);
  expect(status).toBe(400);
  expect(text).toContain('<title>Error: Newsletter');
  expect(text).toContain('action="/api/subscribe"');
  expect(text).not.toContain('Hello');
});

test('page for a form with too many fields explains the refusal in a sentence, and contains all values', async () => {
  const many = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`f${n}`, 'typed']));
  const { status, text } = await post(at.service, '/api/leads', 'urlencoded', {
    ...quote,
    ...many,
  });
  expect(status).toBe(400);
  expect(shown(text)).toMatch(/We could not accept this form[\s\S]*A form has at most 20 fields\./);
  expectKept(text);
  expect(text).not.toContain('typed"');
});

test('page for a contact form with a file is the contact page', async () => {
  const { status, text } = await postRaw(
    at.service,
    '/api/leads',
    'multipart',
    multipart([
      ['form', 'contact'],
      ['email', 'ada@example.com'],
      ['f', 'x', 'Content-Disposition: form-data; name="f"; filename="a.txt"'],
    ]),
  );
  expect(status).toBe(400);
  expect(text).toContain('<title>Error: Contact');
});

describe('page for a form that could not be read', () => {
  test('413: links to an empty form, and says that the browser still has the values', async () => {
    const body = new URLSearchParams({ ...quote, message: 'x'.repeat(33_000) }).toString();
    const headers = { referer: `${at.service.url}/quote` };
    const { status, text } = await postRaw(at.service, '/api/leads', 'urlencoded', body, headers);
    expect(status).toBe(413);
    expect(text).toContain('Your text is too long');
    expect(text).toContain('you typed is still there');
    expect(text).toContain('href="/quote">Start again with an empty form</a>');
    expect(text).not.toContain('xxxxx');
  });

  describe('link back to the page of the form', () => {
    const own = () => at.service.url;
    test.each<[string, () => string | undefined, string]>([
      ['with a query and a fragment', () => `${own()}/contractors?from=ad#top`, 'contractors'],
      ['of another origin', () => 'https://evil.example/quote', ''],
      ['outside of our pages', () => `${own()}//evil.example/quote`, ''],
      ['with a form’s path as its end', () => `${own()}/nothing/quote`, ''],
      ['without a form', () => `${own()}/privacy`, ''],
      ['of an earlier refusal', () => `${own()}/api/leads`, ''],
      ['without a Referer', () => undefined, ''],
      ['with an invalid Referer', () => 'quote', ''],
    ])('leads to the form only if the Referer is a page of ours with a form: %s', async (_name, referer, back) => {
      const body = new URLSearchParams({ ...quote, message: 'x'.repeat(33_000) }).toString();
      const from = referer();
      const headers = from === undefined ? {} : { referer: from };
      const { text } = await postRaw(at.service, '/api/leads', 'urlencoded', body, headers);
      const links = [...text.matchAll(/class="button[^"]*" href="([^"]*)"/g)].map(([, to]) => to);
      expect(links).toEqual(back === '' ? ['/'] : [`/${back}`, '/']);
      expect(text).not.toContain('evil');
    });

    test('leads to /newsletter for a subscription without a Referer', async () => {
      const body = `email=${'x'.repeat(9_000)}`;
      const { status, text } = await postRaw(at.service, '/api/subscribe', 'urlencoded', body);
      expect(status).toBe(413);
      expect(text).toContain('href="/newsletter">Start again with an empty form</a>');
    });
  });

  test('500: returns a page for a native form, and JSON for a JSON form', async () => {
    const { upstream } = at.service.parts;
    if (upstream === undefined || upstream.embedded) throw new Error('not configured');
    const { deliver } = upstream;
    upstream.deliver = () => Promise.reject(new Error('planted'));
    const native = await post(at.service, '/api/leads', 'urlencoded', quote);
    const json = await post(at.service, '/api/leads', 'json', quote);
    upstream.deliver = deliver;
    expect([native.status, json.status]).toEqual([500, 500]);
    expect(native.text).toContain('<h1>Something went wrong</h1>');
    expect(json.body).toEqual({ error: expect.any(String) });
  });
});
